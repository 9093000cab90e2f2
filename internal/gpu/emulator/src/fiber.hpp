// Fibers: stacks that one OS thread switches between, a few nanoseconds a switch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

constexpr size_t stackBytes = 128 << 10;

// A stack, above a page that must not be touched.
struct Stack {
    char* low;  // [low, low + bytes)
    size_t bytes;
    void* pointer;  // where it was left
    Stack* next;    // of the free ones
    Stack* all;     // of all
};

// Takes a stack that the next switch to it enters at entry, which calls arrive first
// and never returns.
Stack* takeStack(void (*entry)());
void freeStack(Stack* stack);
void freeAllStacks();

// Leaves the running stack for another one, and comes back when that is left for it.
void switchStack(Stack& from, Stack& to);
// Leaves the running stack, which was freed or given up, for good.
[[noreturn]] void switchForGood(Stack& to);
// Tells the address sanitizer, if there is one, that a new stack has been entered.
void arrive();

}  // namespace griffin::emulator
