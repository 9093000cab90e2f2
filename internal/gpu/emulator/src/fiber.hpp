// Fibers: stacks that one OS thread switches between, a few nanoseconds a switch.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

constexpr size_t stackBytes = 128 << 10;

// A stack, above a page that must not be touched.
struct Stack {
    char* low;      // [low, low + stackBytes)
    void* pointer;  // where it was left
    Stack* next;    // of the free ones
    Stack* all;     // of all
};

// Takes a stack that the next switch to it enters at entry, which never returns.
Stack* takeStack(void (*entry)());
void freeStack(Stack* stack);
void freeAllStacks();

// Leaves the running stack, storing where in *from, for the one left at to.
void switchStack(void** from, void* to);

}  // namespace griffin::emulator
