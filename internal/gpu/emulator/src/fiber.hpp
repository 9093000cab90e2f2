// Stacks that one OS thread switches between, in a few nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

constexpr size_t stackBytes = 128 << 10;

// Above a guard page.
struct Stack {
    char* low;  // [low, low + bytes)
    size_t bytes;
    void* pointer;  // saved stack pointer
    Stack* next;    // of the free list
    Stack* all;     // of the list of all stacks
};

// The first switch to the stack calls entry, which calls arrive first and never returns.
Stack* takeStack(void (*entry)());
void freeStack(Stack* stack);
void freeAllStacks();

// Returns when it is switched back.
void switchStack(Stack& from, Stack& to);
// Leaves the running stack, which was freed or abandoned.
[[noreturn]] void switchForGood(Stack& to);
// Tells the address sanitizer, if present, that a new stack was entered.
void arrive();

}  // namespace griffin::emulator
