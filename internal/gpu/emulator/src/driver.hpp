// The objects behind the driver's handles, and what every driver function does
// first: it takes the lock.
//
// Work on a stream is not done when it is enqueued but when somebody waits for it,
// in the order of its streams and events. So a program that reads a result, or
// writes an argument, without waiting goes wrong every time, not once in a while.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "block.hpp"
#include "codes.hpp"

#define GRIFFIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace griffin::emulator {

struct Stream;
struct Graph;

struct Event {
    int device;
    bool timing;
    Stream* stream = nullptr;   // it was last recorded on
    uint64_t recorded = 0;      // times
    uint64_t done = 0;          // of them
    double milliseconds = 0;    // when it was last done
    Graph* captured = nullptr;  // it was last recorded while that was captured
};

// A piece of work: does it, and returns a code.
using Work = std::function<int()>;

struct Graph {
    int device;
    std::vector<Work> works;
};

struct Stream {
    int device;
    std::deque<Work> works;
    Graph* capture = nullptr;
    bool origin = false;  // of the capture
};

struct Device {
    int ordinal;
    int retained = 0;
    int lost = success;  // what every call gives since a kernel died or a test took the device away
    Stream* defaultStream = nullptr;
    std::map<Stream*, std::unique_ptr<Stream>> streams;
    std::map<Event*, std::unique_ptr<Event>> events;
    uint64_t poolReserved = 0, poolHigh = 0, poolThreshold = 0;
};

extern Device devices[];
extern int numDevices;
extern size_t deviceBytes;

// The device of the calling thread's context, or null.
Device* currentDevice();
void setCurrentDevice(Device* device);

// One call of a driver function: it holds the lock of the whole emulator.
class Call {
public:
    Call();

private:
    std::lock_guard<std::recursive_mutex> lock;
};

// The beginning of a driver function, and of one that needs a working context.
#define GRIFFIN_ENTER() ::griffin::emulator::Call call_
#define GRIFFIN_ENTER_CONTEXT()         \
    GRIFFIN_ENTER();                    \
    Device* device = currentDevice();   \
    if (!device) return invalidContext; \
    if (device->lost != success) return device->lost

// Puts work on a stream, or into the graph that it is captured into.
int enqueue(Stream* stream, Work work);
// Does all that is on the stream, and what that waits for.
int drain(Stream* stream);
int drainAll(Device* device);
// Does work until the event is done.
int drainEvent(Event* event);
// The stream of a handle; the default stream of device for null. Null: there is no such stream.
Stream* streamOf(void* handle, Device* device);
Event* eventOf(void* handle, Device* device);
bool capturing(const Device* device);

// The code that the device is lost with at this launch, or success; counts launches.
int lostAtLaunch();

// A misuse of the driver, kept as the note; returns code.
int misuse(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace griffin::emulator
