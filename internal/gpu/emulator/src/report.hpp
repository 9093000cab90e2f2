// Descriptions of faults, for tests to read.
#pragma once

#include <string>

namespace griffin::emulator {

// Stores text as the report, unless there is one: the first fault is the cause.
void report(const std::string& text);
// Stores text as the note on the last refused call, which explains the call's
// error code.
void note(const std::string& text);
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// An address in the library's code, which tests convert to a source line.
std::string codePlace(const void* pc);

// Whether an address is in the library's own image, which contains kernels'
// constants.
bool inImage(const void* address);

}  // namespace griffin::emulator
