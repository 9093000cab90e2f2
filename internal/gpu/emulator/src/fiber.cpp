#include "fiber.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

// void griffin_switch_stack(void** from, void* to): saves the callee-saved
// registers on the old stack, and restores them from the new one.
#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.hidden griffin_switch_stack
.globl griffin_switch_stack
.type griffin_switch_stack, @function
griffin_switch_stack:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size griffin_switch_stack, .-griffin_switch_stack
)");
constexpr size_t savedWords = 7;  // six registers and the return address
constexpr size_t entryWord = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.p2align 4
.hidden griffin_switch_stack
.globl griffin_switch_stack
.type griffin_switch_stack, %function
griffin_switch_stack:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size griffin_switch_stack, .-griffin_switch_stack
)");
constexpr size_t savedWords = 20;
constexpr size_t entryWord = 11;  // x30
#else
#error "the emulator knows how to switch stacks on x86-64 and arm64"
#endif

extern "C" void griffin_switch_stack(void** from, void* to);

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(save, low, bytes)
#define __sanitizer_finish_switch_fiber(save, low, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(low, bytes)
#endif

namespace griffin::emulator {

namespace {
Stack *freeStacks, *allStacks;
Stack* left;  // the stack that was left last

Stack* newStack() {
    size_t guard = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    void* memory =
        mmap(nullptr, guard + stackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) abort();
    mprotect(memory, guard, PROT_NONE);
    auto* stack = new Stack();
    stack->low = static_cast<char*>(memory) + guard;
    stack->bytes = stackBytes;
    stack->all = allStacks;
    allStacks = stack;
    return stack;
}
}  // namespace

Stack* takeStack(void (*entry)()) {
    Stack* stack = freeStacks;
    if (stack) {
        freeStacks = stack->next;
    } else {
        stack = newStack();
    }
    ASAN_UNPOISON_MEMORY_REGION(stack->low, stack->bytes);  // of an abandoned thread
    // A function expects its return address 8 bytes off a multiple of 16.
    void** top = reinterpret_cast<void**>(stack->low + stackBytes) - 1;
    void** pointer = top - savedWords;
#if defined(__aarch64__)
    pointer = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(pointer) & ~uintptr_t{15});
#endif
    for (size_t i = 0; i < savedWords; i++) pointer[i] = nullptr;
    pointer[entryWord] = reinterpret_cast<void*>(entry);
    top[0] = nullptr;  // the return address of entry
    stack->pointer = pointer;
    return stack;
}

void freeStack(Stack* stack) {
    stack->next = freeStacks;
    freeStacks = stack;
}

void freeAllStacks() {
    freeStacks = nullptr;
    for (Stack* s = allStacks; s; s = s->all) freeStack(s);
}

void arrive() {
    [[maybe_unused]] const void* low = nullptr;
    [[maybe_unused]] size_t bytes = 0;
    __sanitizer_finish_switch_fiber(nullptr, &low, &bytes);
    if (left && left->bytes == 0 && low) {  // the OS thread's own stack
        left->low = static_cast<char*>(const_cast<void*>(low));
        left->bytes = bytes;
    }
}

void switchStack(Stack& from, Stack& to) {
    left = &from;
    [[maybe_unused]] void* save = nullptr;
    __sanitizer_start_switch_fiber(&save, to.low, to.bytes);
    griffin_switch_stack(&from.pointer, to.pointer);
    __sanitizer_finish_switch_fiber(save, nullptr, nullptr);
}

void switchForGood(Stack& to) {
    void* pointer;
    left = nullptr;
    __sanitizer_start_switch_fiber(nullptr, to.low, to.bytes);
    griffin_switch_stack(&pointer, to.pointer);
    __builtin_unreachable();
}

}  // namespace griffin::emulator
