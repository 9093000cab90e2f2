#include "block.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>

#include "codes.hpp"
#include "report.hpp"
#include "shadow.hpp"

namespace griffin::emulator {

const Kernel* kernels;

Kernel::Kernel(const char* name, size_t paramBytes, uint32_t maxThreads, void (*run)(const void*), const char* file,
               int line)
    : name(name), paramBytes(paramBytes), maxThreads(maxThreads), run(run), file(file), line(line), next(kernels) {
    kernels = this;
}

Block block;

namespace {

Stack mainStack;  // runBlock waits here for its threads
int failure;      // code of the launch, if it failed
alignas(16) char params[maxParamBytes];
Stack* entering;  // the stack on which threadMain begins

void threadMain();
[[noreturn]] void reportDeadlock();

// Preferably of warp; null if there is none.
Thread* nextReady(uint32_t warp) {
    if (!block.warps[warp].ready) {
        if (!block.readyWarps) return nullptr;
        warp = static_cast<uint32_t>(__builtin_ctz(block.readyWarps));
    }
    Warp& w = block.warps[warp];
    uint32_t lane = static_cast<uint32_t>(__builtin_ctz(w.ready));
    w.ready &= w.ready - 1;
    if (!w.ready) block.readyWarps &= ~(1u << warp);
    return &block.threads[warp * 32 + lane];
}

void makeReady(Thread& t) {
    t.waits = Collective::none;
    block.warps[t.warp()].ready |= 1u << t.lane();
    block.readyWarps |= 1u << t.warp();
}

void enterNewStack(Stack& from) {
    entering = takeStack(threadMain);
    switchStack(from, *entering);
}

// Runs other threads until the running one is ready and chosen. The current warp continues until it must wait; then new
// threads begin.
void wait(Thread& t) {
    bool unstarted = block.started < block.numThreads;
    if (block.warps[t.warp()].ready == 0 && unstarted) {
        enterNewStack(*t.stack);
        return;
    }
    if (Thread* next = nextReady(t.warp())) {
        block.thread = next;
        switchStack(*t.stack, *next->stack);
        return;
    }
    reportDeadlock();
}

void endThread(Thread& t) {
    t.ended = true;
    block.endedThreads++;
    Warp& w = block.warps[t.warp()];
    w.ended |= 1u << t.lane();
    for (uint32_t i = 0; i < w.numMeetings; i++) {
        if (w.meetings[i].mask >> t.lane() & 1) reportDeadlock();
    }
}

// Runs threads on a stack, each from begin to end, until another waiting thread can continue.
void threadMain() {
    arrive();
    Stack* mine = entering;
    for (;;) {
        Thread& t = block.threads[block.started++];
        block.thread = &t;
        t.stack = mine;
        block.spins = 0;
        block.launch->kernel->run(params);
        endThread(t);
        bool unstarted = block.started < block.numThreads;
        if (block.warps[t.warp()].ready == 0 && unstarted) continue;
        if (Thread* next = nextReady(t.warp())) {
            freeStack(mine);
            block.thread = next;
            switchForGood(*next->stack);
        }
        if (block.endedThreads < block.numThreads) reportDeadlock();
        freeStack(mine);
        switchForGood(mainStack);
    }
}

std::string threadName(const Thread& t) {
    return format("(%u,%u,%u)", t.index[0], t.index[1], t.index[2]);
}

std::string header() {
    return format("kernel %s, block (%u,%u,%u), thread ", block.launch->kernel->name, block.index[0], block.index[1],
                  block.index[2]) +
           threadName(*block.thread) + ": ";
}

[[noreturn]] void fail(int code, const std::string& text) {
    report(header() + text);
    failure = code;
    switchForGood(mainStack);
}

const char* collectiveName(Collective what) {
    static const char* const names[] = {
        "nothing",           "__syncwarp",         "__all_sync",        "__any_sync",        "__ballot_sync",
        "__shfl_sync",       "__shfl_up_sync",     "__shfl_down_sync",  "__shfl_xor_sync",   "__match_any_sync",
        "__reduce_add_sync", "__reduce_min_sync",  "__reduce_max_sync", "__reduce_min_sync", "__reduce_max_sync",
        "__reduce_or_sync",  "__reduce_and_sync",  "__reduce_xor_sync", "__syncthreads",     "__syncthreads_or",
        "__syncthreads_and", "__syncthreads_count"};
    return names[static_cast<int>(what)];
}

std::string meetingName(const Thread& t) {
    std::string name = collectiveName(t.waits);
    if (t.waits < Collective::syncBlock) name += format(" of lanes %#010x of warp %u", t.mask, t.warp());
    return name + format(" at %s:%d", t.place.file, t.place.line);
}

// No thread can continue, or a thread ended that others wait for.
void reportDeadlock() {
    std::string text = "divergence: not all threads reached the place where others wait";
    const Thread* shown[4];
    int numShown = 0;
    for (uint32_t i = 0; i < block.started && numShown < 4; i++) {
        const Thread& t = block.threads[i];
        if (t.waits == Collective::none) continue;
        bool seen = false;
        for (int k = 0; k < numShown; k++) {
            const Thread& s = *shown[k];
            bool sameWarp = t.waits >= Collective::syncBlock || (s.warp() == t.warp() && s.mask == t.mask);
            seen |= s.waits == t.waits && s.place.line == t.place.line && s.place.file == t.place.file && sameWarp;
        }
        if (seen) continue;
        shown[numShown++] = &t;
        text += "\n  thread " + threadName(t) + " waits in " + meetingName(t);
    }
    for (uint32_t i = 0; i < block.started; i++) {
        if (!block.threads[i].ended) continue;
        text += "\n  thread " + threadName(block.threads[i]) + " has ended" +
                (block.endedThreads > 1 ? format(", and %u others", block.endedThreads - 1) : std::string());
        break;
    }
    fail(launchFailed, text);
}

struct Tally {
    uint32_t votes = 0;  // lanes whose value is odd
    uint64_t low = ~uint64_t{0}, high = 0, sum = 0, any = 0, every = ~uint64_t{0}, parity = 0;
    int32_t lowSigned = INT32_MAX, highSigned = INT32_MIN;

    void add(uint32_t lane, uint64_t v) {
        votes |= static_cast<uint32_t>(v & 1) << lane;
        low = v < low ? v : low;
        high = v > high ? v : high;
        auto s = static_cast<int32_t>(v);
        lowSigned = s < lowSigned ? s : lowSigned;
        highSigned = s > highSigned ? s : highSigned;
        sum += v;
        any |= v;
        every &= v;
        parity ^= v;
    }

    // For all lanes; 0 if it differs between lanes.
    uint64_t result(const Meeting& m) const {
        switch (m.what) {
            case Collective::all:
                return votes == m.mask;
            case Collective::any:
                return votes != 0;
            case Collective::ballot:
                return votes;
            case Collective::reduceAdd:
                return static_cast<uint32_t>(sum);
            case Collective::reduceMin:
                return low;
            case Collective::reduceMax:
                return high;
            case Collective::reduceMinSigned:
                return static_cast<uint32_t>(lowSigned);
            case Collective::reduceMaxSigned:
                return static_cast<uint32_t>(highSigned);
            case Collective::reduceOr:
                return any;
            case Collective::reduceAnd:
                return every;
            case Collective::reduceXor:
                return parity;
            default:
                return 0;
        }
    }
};

bool isShuffle(Collective what) {
    return what >= Collective::shuffle && what <= Collective::shuffleXor;
}

uint64_t shuffled(const Thread* lanes, uint32_t lane, const Meeting& m) {
    const Thread& t = lanes[lane];
    uint32_t begin = lane & ~(t.width - 1), end = begin + t.width - 1;
    int64_t from = begin | (t.source & (t.width - 1));
    if (m.what == Collective::shuffleUp) from = int64_t{lane} - t.source;
    if (m.what == Collective::shuffleDown) from = int64_t{lane} + t.source;
    if (m.what == Collective::shuffleXor) from = lane ^ t.source;
    bool inside = from <= end && (from >= begin || m.what == Collective::shuffleXor);
    if (!inside) from = lane;
    // The value of a lane outside the mask is undefined.
    return from < 32 && (m.mask >> from & 1) ? lanes[from].value : 0xdeadbeefdeadbeef;
}

uint32_t lanesOfValue(const Thread* lanes, uint64_t value, const Meeting& m) {
    uint32_t same = 0;
    for (uint32_t rest = m.mask; rest; rest &= rest - 1) {
        auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        if (lanes[lane].value == value) same |= 1u << lane;
    }
    return same;
}

void giveResults(const Meeting& m, Thread* lanes) {
    Tally tally;
    for (uint32_t rest = m.mask; rest; rest &= rest - 1) {
        auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        tally.add(lane, lanes[lane].value);
    }
    uint64_t same = tally.result(m);
    for (uint32_t rest = m.mask; rest; rest &= rest - 1) {
        auto lane = static_cast<uint32_t>(__builtin_ctz(rest));
        uint64_t result = same;
        if (isShuffle(m.what)) result = shuffled(lanes, lane, m);
        if (m.what == Collective::matchAny) result = lanesOfValue(lanes, lanes[lane].value, m);
        lanes[lane].result = result;
    }
}

// Orders accesses before the meeting before accesses after it.
void order(const Meeting& m, Warp& w) {
    block.clock++;
    block.spins = 0;
    if (m.mask == w.lanes) {
        w.met = block.clock;
        return;
    }
    // Accesses ordered before any of the lanes that met are now ordered before
    // all of them.
    for (uint32_t a = 0; a < 32; a++) {
        uint64_t before = 0;
        for (uint32_t rest = m.mask; rest; rest &= rest - 1) {
            uint64_t c = w.metPair[a][__builtin_ctz(rest)];
            before = c > before ? c : before;
        }
        if (m.mask >> a & 1) before = block.clock;
        for (uint32_t rest = m.mask; rest; rest &= rest - 1) w.metPair[a][__builtin_ctz(rest)] = before;
    }
}

Dim unflatten(uint64_t number, const Dim& size) {
    uint64_t rest = number / size.axis[0];
    return {{static_cast<uint32_t>(number % size.axis[0]), static_cast<uint32_t>(rest % size.axis[1]),
             static_cast<uint32_t>(rest / size.axis[1])}};
}

void runBlock(const Launch& launch, uint64_t number) {
    Dim index = unflatten(number, launch.grid);
    memcpy(block.index, index.axis, sizeof block.index);
    block.numThreads = static_cast<uint32_t>(launch.block.volume());
    block.numWarps = (block.numThreads + 31) / 32;
    block.started = block.endedThreads = block.readyWarps = block.arrived = block.votes = 0;
    block.start = block.lastBarrier = ++block.clock;
    block.acquired = false;
    for (uint32_t i = 0; i < block.numThreads; i++) {
        Thread& t = block.threads[i];
        Dim at = unflatten(i, launch.block);
        memcpy(t.index, at.axis, sizeof t.index);
        t.number = i;
        t.ended = false;
        t.waits = Collective::none;
    }
    for (uint32_t i = 0; i < block.numWarps; i++) {
        Warp& w = block.warps[i];
        uint32_t lanes = block.numThreads - i * 32;
        w.lanes = lanes >= 32 ? ~0u : (1u << lanes) - 1;
        w.ready = w.ended = w.numMeetings = 0;
    }
    mainStack.bytes = 0;  // the calling thread may have changed
    enterNewStack(mainStack);
}

}  // namespace

int runLaunch(const Launch& launch) {
    static uint64_t numLaunches;
    memcpy(params, launch.params, launch.kernel->paramBytes);
    failure = success;
    block.launch = &launch;
    block.launchStart = ++block.clock;
    // Blocks have no defined order: each launch uses another one.
    uint64_t numBlocks = launch.grid.volume();
    uint64_t step = numBlocks > 2 ? (numBlocks * 5 / 8) + numLaunches % 7 : 1;
    while (std::gcd(step, numBlocks) != 1) step++;
    uint64_t number = numLaunches++ % numBlocks;
    for (uint64_t i = 0; i < numBlocks && failure == success; i++) {
        runBlock(launch, number);
        number = (number + step) % numBlocks;
    }
    block.thread = nullptr;
    block.launch = nullptr;
    if (failure != success) freeAllStacks();
    return failure;
}

void failThread(int code, const char* format, ...) {
    char buffer[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    fail(code, buffer);
}

uint32_t threadIndex(int axis) {
    return block.thread->index[axis];
}
uint32_t blockIndex(int axis) {
    return block.index[axis];
}
uint32_t blockSize(int axis) {
    return block.launch->block.axis[axis];
}
uint32_t gridSize(int axis) {
    return block.launch->grid.axis[axis];
}

// Which lanes a GPU runs together is undefined: only the caller is certain.
uint32_t activeMask() {
    return 1u << block.thread->lane();
}

uint64_t meetWarp(Collective what, uint32_t mask, uint64_t value, uint32_t source, uint32_t width, Place place) {
    Thread& t = *block.thread;
    Warp& w = block.warps[t.warp()];
    uint32_t bit = 1u << t.lane();
    mask &= w.lanes;
    t.mask = mask;
    t.place = place;
    t.waits = what;
    if (!(mask & bit)) fail(launchFailed, "divergence: the lane is not among those of " + meetingName(t));
    if (width == 0 || width > 32 || (width & (width - 1))) fail(launchFailed, "no such width: " + meetingName(t));
    if (mask & w.ended) reportDeadlock();
    uint32_t i = 0;
    while (i < w.numMeetings && w.meetings[i].mask != mask) i++;
    if (i == w.numMeetings) w.meetings[w.numMeetings++] = {mask, 0, what};
    Meeting& m = w.meetings[i];
    if (m.what != what) reportDeadlock();
    m.arrived |= bit;
    t.value = value;
    t.source = source;
    t.width = width;
    if (m.arrived != mask) {
        wait(t);
        return t.result;
    }
    giveResults(m, &block.threads[t.warp() * 32]);
    order(m, w);
    w.meetings[i] = w.meetings[--w.numMeetings];
    for (uint32_t rest = mask & ~bit; rest; rest &= rest - 1) {
        makeReady(block.threads[t.warp() * 32 + static_cast<uint32_t>(__builtin_ctz(rest))]);
    }
    t.waits = Collective::none;
    return t.result;
}

int meetBlock(Collective what, int predicate, Place place) {
    Thread& t = *block.thread;
    t.waits = what;
    t.place = place;
    if (block.endedThreads) reportDeadlock();
    if (block.arrived == 0) {
        block.barrier = what;
        block.barrierPlace = place;
    } else if (what != block.barrier || place.line != block.barrierPlace.line ||
               (place.file != block.barrierPlace.file && strcmp(place.file, block.barrierPlace.file) != 0)) {
        reportDeadlock();
    }
    block.arrived++;
    block.votes += predicate != 0;
    if (block.arrived < block.numThreads) {
        wait(t);
        return block.barrierResult;
    }
    block.barrierResult = static_cast<int>(block.votes);
    if (what == Collective::syncBlockOr) block.barrierResult = block.votes != 0;
    if (what == Collective::syncBlockAnd) block.barrierResult = block.votes == block.numThreads;
    block.arrived = block.votes = 0;
    block.lastBarrier = ++block.clock;
    block.spins = 0;
    for (uint32_t i = 0; i < block.numThreads; i++) {
        if (i != t.number) makeReady(block.threads[i]);
    }
    t.waits = Collective::none;
    return block.barrierResult;
}

}  // namespace griffin::emulator
