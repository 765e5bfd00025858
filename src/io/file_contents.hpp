#pragma once

#include <string>
#include <string_view>

namespace tessera::io {

/// The bytes of a file, mapped into memory; of a gzipped file (told by its first bytes, 1f 8b) the
/// bytes it stands for. Throws ParseError that says what is wrong with the file: not there (with
/// the nearest name in the folder), a folder, unreadable, empty, a broken gzip stream.
class FileContents {
  public:
    explicit FileContents(const std::string& path);
    ~FileContents();
    FileContents(const FileContents&) = delete;
    FileContents& operator=(const FileContents&) = delete;

    std::string_view bytes() const {
        return map_ != nullptr ? std::string_view(static_cast<const char*>(map_), map_size_)
                               : std::string_view(owned_);
    }

  private:
    void unmap() noexcept;

    void* map_ = nullptr;
    std::size_t map_size_ = 0;
    std::string owned_;
};

}  // namespace tessera::io
