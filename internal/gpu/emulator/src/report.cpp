#include "report.hpp"

#include <link.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace griffin::emulator {

namespace {

std::mutex mutex;
std::string reportText, noteText;

struct Image {
    uintptr_t base = 0, low = 0, high = 0;
};

int findImage(dl_phdr_info* info, size_t, void* data) {
    auto* image = static_cast<Image*>(data);
    auto here = reinterpret_cast<uintptr_t>(&findImage);
    uintptr_t low = ~uintptr_t{0}, high = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type != PT_LOAD) continue;
        uintptr_t from = info->dlpi_addr + header.p_vaddr;
        low = from < low ? from : low;
        high = from + header.p_memsz > high ? from + header.p_memsz : high;
    }
    if (here < low || here >= high) return 0;
    *image = {info->dlpi_addr, low, high};
    return 1;
}

const Image& image() {
    static const Image found = [] {
        Image i;
        dl_iterate_phdr(findImage, &i);
        return i;
    }();
    return found;
}

}  // namespace

void report(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex);
    if (reportText.empty()) reportText = what;
}

void note(const std::string& what) {
    std::lock_guard<std::mutex> lock(mutex);
    noteText = what;
}

std::string format(const char* format, ...) {
    char buffer[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return buffer;
}

std::string codePlace(const void* pc) {
    // The call is the instruction before the return address.
    return format("{pc %#zx}", reinterpret_cast<uintptr_t>(pc) - 1 - image().base);
}

bool inImage(const void* address) {
    auto a = reinterpret_cast<uintptr_t>(address);
    return a >= image().low && a < image().high;
}

}  // namespace griffin::emulator

namespace {

size_t take(std::string& text, char* buffer, size_t size) {
    std::lock_guard<std::mutex> lock(griffin::emulator::mutex);
    size_t length = text.size();
    if (size > 0) {
        size_t copied = length < size ? length : size - 1;
        memcpy(buffer, text.data(), copied);
        buffer[copied] = 0;
    }
    text.clear();
    return length;
}

}  // namespace

// Copies the report into buffer, truncated to size with a zero byte, clears it, and returns its full length; 0 if there
// is none.
extern "C" __attribute__((visibility("default"))) size_t griffin_emulator_take_report(char* buffer, size_t size) {
    return take(griffin::emulator::reportText, buffer, size);
}

// For the note on the last refused call.
extern "C" __attribute__((visibility("default"))) size_t griffin_emulator_take_note(char* buffer, size_t size) {
    return take(griffin::emulator::noteText, buffer, size);
}
