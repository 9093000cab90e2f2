#pragma once

#include <string>

namespace griffin::emulator {

// Unless there is a report: the first fault is the cause.
void report(const std::string& text);
// On the last refused call; explains its error code.
void note(const std::string& text);
std::string format(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Tests convert it to a source line.
std::string codePlace(const void* pc);

// In the library's own image, which contains kernels' constants.
bool inImage(const void* address);

}  // namespace griffin::emulator
