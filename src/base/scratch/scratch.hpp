#pragma once

#include <initializer_list>

#include "tessera/context.hpp"

namespace tessera {

struct ScratchBlock;

/// Bytes of a Context from its stack of work space, which its state keeps from call to call:
/// objects of one Context end in the reverse order of their construction. The contents are
/// undefined; work enqueued later, on the same stream, may reuse them once the object ends. A
/// larger block replaces one that is too small, but not inside a capture; graphs keep theirs alive.
class ScratchBytes {
  public:
    ScratchBytes(const Context& context, Offset bytes);
    ~ScratchBytes();
    ScratchBytes(const ScratchBytes&) = delete;
    ScratchBytes& operator=(const ScratchBytes&) = delete;
    void* data() const { return data_; }

  private:
    ContextState& state_;
    std::shared_ptr<ScratchBlock> block_;
    Offset before_;
    void* data_ = nullptr;
};

/// Work space of one call. A const operation takes its work vectors from here, so that several
/// Contexts can run it at once.
template <class T>
class Scratch {
  public:
    Scratch(const Context& context, Offset size)
        : bytes_(context, size * Offset(sizeof(T))), size_(std::size_t(size)) {}
    T* data() const { return static_cast<T*>(bytes_.data()); }
    std::span<T> view() const { return {data(), size_}; }

  private:
    ScratchBytes bytes_;
    std::size_t size_;
};

/// What an object of `bytes` takes.
Offset scratch_bytes(Offset bytes);

/// Reserves memory for objects of `sizes` bytes at once, so that captures need not allocate.
void reserve_scratch(const Context& context, std::initializer_list<Offset> sizes);

}  // namespace tessera
