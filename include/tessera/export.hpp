#pragma once

/// Marks what a shared libtessera exports; everything else is hidden.
#define TESSERA_API __attribute__((visibility("default")))
