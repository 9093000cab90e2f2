// Inserted by the compiler where a kernel may have undefined behaviour in C++ (-fsanitize=shift-exponent and others).
// PTX defines a result; kernels must not depend on it.

#include <cstddef>
#include <cstdint>

#include "block.hpp"
#include "codes.hpp"

namespace {

// A location, then more that depends on the kind.
struct Place {
    const char* file;
    uint32_t line;
    uint32_t column;
};

[[noreturn]] void fail(const Place* place, const char* what) {
    griffin::emulator::failThread(griffin::emulator::launchFailed, "undefined behaviour: %s\n  at %s:%u", what,
                                  place->file, place->line);
}

}  // namespace

#define GRIFFIN_UNDEFINED(name, what, ...)                                       \
    extern "C" void __ubsan_handle_##name(Place* place, ##__VA_ARGS__) {         \
        fail(place, what);                                                       \
    }                                                                            \
    extern "C" void __ubsan_handle_##name##_abort(Place* place, ##__VA_ARGS__) { \
        fail(place, what);                                                       \
    }

GRIFFIN_UNDEFINED(shift_out_of_bounds, "a shift by the width of the number or more (shift_left, shift_right take any)",
                  uintptr_t, uintptr_t)
GRIFFIN_UNDEFINED(out_of_bounds, "an array's index is out of its bounds", uintptr_t)
GRIFFIN_UNDEFINED(divrem_overflow, "a division by zero, or that overflows", uintptr_t, uintptr_t)
GRIFFIN_UNDEFINED(add_overflow, "a signed sum overflows", uintptr_t, uintptr_t)
GRIFFIN_UNDEFINED(sub_overflow, "a signed difference overflows", uintptr_t, uintptr_t)
GRIFFIN_UNDEFINED(mul_overflow, "a signed product overflows", uintptr_t, uintptr_t)
GRIFFIN_UNDEFINED(negate_overflow, "a signed number's negative overflows", uintptr_t)
GRIFFIN_UNDEFINED(float_cast_overflow, "a number does not fit the integer that it is converted to", uintptr_t)
GRIFFIN_UNDEFINED(builtin_unreachable, "a place that cannot be reached is")
GRIFFIN_UNDEFINED(type_mismatch_v1, "an address that is null, or not a multiple of its type's size", uintptr_t)
