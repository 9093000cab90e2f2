// What went wrong, in words, for tests to read.
#pragma once

#include <string>

namespace griffin::emulator {

// Keeps text as the report, if there is none yet: the first fault is the cause.
void report(const std::string& text);
// Keeps text as the note on the last call that was refused. The caller has an error
// code already; the note says more.
void note(const std::string& text);
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A place in the library's code, which tests turn into a line of the source.
std::string codePlace(const void* pc);

// Whether an address is in the library's own image, which holds kernels' constants.
bool inImage(const void* address);

}  // namespace griffin::emulator
