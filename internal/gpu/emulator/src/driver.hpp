// The objects behind the driver's handles, and the common entry of driver functions.
//
// Work on a stream is done only when a caller waits for it, so a program that reads a result, or changes an argument,
// without waiting fails every time.
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
    Stream* stream = nullptr;   // stream of the last recording
    uint64_t recorded = 0;      // number of recordings
    uint64_t done = 0;          // number of completed recordings
    double milliseconds = 0;    // time of the last completion
    Graph* captured = nullptr;  // the graph captured during the last recording
};

using Work = std::function<int()>;

struct Graph {
    int device;
    std::vector<Work> works;
};

struct Stream {
    int device;
    std::deque<Work> works;
    Graph* capture = nullptr;
    bool origin = false;  // the capture began on this stream
};

// A green context.
struct Part {
    int device;
};

struct Device {
    int ordinal;
    int retained = 0;
    int lost = success;  // the result of every call after a kernel died or a test removed the device
    Stream* defaultStream = nullptr;
    std::map<Stream*, std::unique_ptr<Stream>> streams;
    std::map<Event*, std::unique_ptr<Event>> events;
    std::map<Part*, std::unique_ptr<Part>> parts;
    uint64_t poolReserved = 0, poolHigh = 0, poolThreshold = 0;
};

extern Device devices[];
extern int numDevices;
extern size_t deviceBytes;

Device* currentDevice();
void setCurrentDevice(Device* device);

// Holds the lock of the whole emulator.
class Call {
public:
    Call();

private:
    std::lock_guard<std::recursive_mutex> lock;
};

// Without and with a required context.
#define GRIFFIN_ENTER() ::griffin::emulator::Call call_
#define GRIFFIN_ENTER_CONTEXT()         \
    GRIFFIN_ENTER();                    \
    Device* device = currentDevice();   \
    if (!device) return invalidContext; \
    if (device->lost != success) return device->lost

// To a stream, or to the graph being captured from it.
int enqueue(Stream* stream, Work work);
// And the work that it waits for.
int drain(Stream* stream);
int drainAll(Device* device);
int drainEvent(Event* event);
// An attribute of all devices, by its number in cuda.h.
int attribute(int number);
// A new stream of the device.
Stream* createStream(Device* device);
// For a null handle the device's default stream; null if there is no such stream.
Stream* streamOf(void* handle, Device* device);
Event* eventOf(void* handle, Device* device);
bool capturing(const Device* device);

// The code with which the device is lost at this launch, or success; counts launches.
int lostAtLaunch();

// Stores the note on a misuse; returns code.
int misuse(int code, const char* format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace griffin::emulator
