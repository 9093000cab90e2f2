// Fibers: stacks that one OS thread switches between, in a few nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>

namespace griffin::emulator {

constexpr size_t stackBytes = 128 << 10;

// A stack, above a guard page.
struct Stack {
    char* low;  // [low, low + bytes)
    size_t bytes;
    void* pointer;  // saved stack pointer
    Stack* next;    // of the free list
    Stack* all;     // of the list of all stacks
};

// Takes a stack. The first switch to it calls entry, which calls arrive first
// and never returns.
Stack* takeStack(void (*entry)());
void freeStack(Stack* stack);
void freeAllStacks();

// Switches to another stack, and returns when it switches back.
void switchStack(Stack& from, Stack& to);
// Leaves the running stack, which was freed or abandoned, for good.
[[noreturn]] void switchForGood(Stack& to);
// Tells the address sanitizer, if present, that a new stack was entered.
void arrive();

}  // namespace griffin::emulator
