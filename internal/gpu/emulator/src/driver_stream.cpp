// Streams, events and graphs.

#include <chrono>

#include "driver.hpp"

namespace griffin::emulator {

namespace {

double now() {
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

int step(Stream* stream) {
    Device& device = devices[stream->device];
    Work work = std::move(stream->works.front());
    stream->works.pop_front();
    int code = device.lost != success ? device.lost : work();
    if (code != success && device.lost == success) device.lost = code;
    return code;
}

}  // namespace

int enqueue(Stream* stream, Work work) {
    if (stream->capture) {
        stream->capture->works.push_back(std::move(work));
        return success;
    }
    stream->works.push_back(std::move(work));
    constexpr size_t maxWaiting = 1 << 14;
    if (stream->works.size() > maxWaiting) return step(stream);
    if (stream == devices[stream->device].defaultStream) return drain(stream);
    return success;
}

int drain(Stream* stream) {
    int code = success;
    while (!stream->works.empty() && code == success) code = step(stream);
    return code;
}

int drainAll(Device* device) {
    int code = success;
    for (auto& [stream, owned] : device->streams) {
        int c = drain(stream);
        if (code == success) code = c;
    }
    return code;
}

int drainEvent(Event* event) {
    int code = success;
    uint64_t wanted = event->recorded;
    while (event->done < wanted && code == success && event->stream && !event->stream->works.empty()) {
        code = step(event->stream);
    }
    return code;
}

Stream* streamOf(void* handle, Device* device) {
    auto* stream = static_cast<Stream*>(handle);
    if (stream) return device->streams.count(stream) ? stream : nullptr;
    if (!device->defaultStream) {
        auto owned = std::make_unique<Stream>();
        owned->device = device->ordinal;
        device->defaultStream = owned.get();
        device->streams[owned.get()] = std::move(owned);
    }
    return device->defaultStream;
}

Event* eventOf(void* handle, Device* device) {
    auto* event = static_cast<Event*>(handle);
    return device->events.count(event) ? event : nullptr;
}

bool capturing(const Device* device) {
    for (auto& [stream, owned] : device->streams) {
        if (stream->capture) return true;
    }
    return false;
}

}  // namespace griffin::emulator

using namespace griffin::emulator;

namespace griffin::emulator {

Stream* createStream(Device* device) {
    auto owned = std::make_unique<Stream>();
    owned->device = device->ordinal;
    Stream* stream = owned.get();
    device->streams[stream] = std::move(owned);
    return stream;
}

}  // namespace griffin::emulator

GRIFFIN_EXPORT int cuStreamCreate(void** handle, unsigned) {
    GRIFFIN_ENTER_CONTEXT();
    *handle = createStream(device);
    return success;
}

// A stream's work completes before it is destroyed, as the driver guarantees.
GRIFFIN_EXPORT int cuStreamDestroy_v2(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    if (!handle) return invalidHandle;
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    int code = drain(stream);
    for (auto& [event, owned] : device->events) {
        if (event->stream == stream) event->stream = nullptr;
    }
    device->streams.erase(stream);
    return code;
}

GRIFFIN_EXPORT int cuStreamSynchronize(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    if (stream->capture) return captureUnsupported;
    return drain(stream);
}

// Each query runs one work item of the stream.
GRIFFIN_EXPORT int cuStreamQuery(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    if (stream->capture) return captureUnsupported;
    if (stream->works.empty()) return success;
    int code = step(stream);
    return code != success ? code : stream->works.empty() ? int{success} : int{notReady};
}

GRIFFIN_EXPORT int cuStreamWaitEvent(void* handle, void* eventHandle, unsigned) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    Event* event = eventOf(eventHandle, device);
    if (!stream || !event) return invalidHandle;
    if (event->captured) {
        // The stream joins the capture. Works are stored in call order, which satisfies all dependencies.
        if (stream->capture && stream->capture != event->captured) return captureInvalidated;
        stream->capture = event->captured;
        return success;
    }
    if (stream->capture)
        return misuse(captureInvalidated, "cuStreamWaitEvent: a captured stream waits for an event outside");
    if (event->recorded == 0) return success;
    uint64_t wanted = event->recorded;
    return enqueue(stream, [event, wanted, device] {
        if (!device->events.count(event)) return int{success};
        int code = success;
        while (event->done < wanted && code == success && event->stream && !event->stream->works.empty()) {
            code = step(event->stream);
        }
        return code;
    });
}

GRIFFIN_EXPORT int cuEventCreate(void** handle, unsigned flags) {
    GRIFFIN_ENTER_CONTEXT();
    auto owned = std::make_unique<Event>();
    owned->device = device->ordinal;
    owned->timing = !(flags & 2);
    *handle = owned.get();
    device->events[owned.get()] = std::move(owned);
    return success;
}

GRIFFIN_EXPORT int cuEventDestroy_v2(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Event* event = eventOf(handle, device);
    if (!event) return invalidHandle;
    int code = drainEvent(event);
    device->events.erase(event);
    return code;
}

GRIFFIN_EXPORT int cuEventRecord(void* handle, void* streamHandle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(streamHandle, device);
    Event* event = eventOf(handle, device);
    if (!stream || !event) return invalidHandle;
    event->captured = stream->capture;
    if (stream->capture) return success;
    event->stream = stream;
    uint64_t number = ++event->recorded;
    return enqueue(stream, [event, number, device] {
        if (device->events.count(event)) {
            event->done = number;
            event->milliseconds = now();
        }
        return int{success};
    });
}

GRIFFIN_EXPORT int cuEventQuery(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Event* event = eventOf(handle, device);
    if (!event) return invalidHandle;
    if (event->captured) return captureUnsupported;
    if (event->done == event->recorded) return success;
    if (event->stream && !event->stream->works.empty()) {
        int code = step(event->stream);
        if (code != success) return code;
    }
    return event->done == event->recorded ? success : notReady;
}

GRIFFIN_EXPORT int cuEventSynchronize(void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Event* event = eventOf(handle, device);
    if (!event) return invalidHandle;
    if (event->captured) return captureUnsupported;
    return drainEvent(event);
}

GRIFFIN_EXPORT int cuEventElapsedTime(float* milliseconds, void* startHandle, void* endHandle) {
    GRIFFIN_ENTER_CONTEXT();
    Event *start = eventOf(startHandle, device), *end = eventOf(endHandle, device);
    if (!start || !end || !start->timing || !end->timing) return invalidHandle;
    if (start->recorded == 0 || end->recorded == 0) return invalidHandle;
    if (start->done < start->recorded || end->done < end->recorded) return notReady;
    *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
    return success;
}

GRIFFIN_EXPORT int cuStreamBeginCapture_v2(void* handle, int) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream || !handle) return invalidHandle;
    if (stream->capture) return invalidValue;
    stream->capture = new Graph{device->ordinal, {}};
    stream->origin = true;
    return success;
}

GRIFFIN_EXPORT int cuStreamEndCapture(void* handle, void** graph) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream) return invalidHandle;
    Graph* captured = stream->capture;
    if (!captured || !stream->origin) return invalidValue;
    for (auto& [other, owned] : device->streams) {
        if (other->capture == captured) other->capture = nullptr;
    }
    for (auto& [event, owned] : device->events) {
        if (event->captured == captured) event->captured = nullptr;
    }
    stream->origin = false;
    *graph = captured;
    return success;
}

// Both kinds of graph are a Graph: an ordered list of works.
GRIFFIN_EXPORT int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    GRIFFIN_ENTER_CONTEXT();
    if (!graph) return invalidValue;
    *executable = new Graph(*static_cast<Graph*>(graph));
    return success;
}

GRIFFIN_EXPORT int cuGraphUpload(void* executable, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    return executable && streamOf(handle, device) ? success : invalidHandle;
}

GRIFFIN_EXPORT int cuGraphLaunch(void* executable, void* handle) {
    GRIFFIN_ENTER_CONTEXT();
    Stream* stream = streamOf(handle, device);
    if (!stream || !executable) return invalidHandle;
    for (const Work& work : static_cast<Graph*>(executable)->works) {
        int code = enqueue(stream, work);
        if (code != success) return code;
    }
    return success;
}

GRIFFIN_EXPORT int cuGraphExecDestroy(void* executable) {
    GRIFFIN_ENTER();
    delete static_cast<Graph*>(executable);
    return success;
}

GRIFFIN_EXPORT int cuGraphDestroy(void* graph) {
    GRIFFIN_ENTER();
    delete static_cast<Graph*>(graph);
    return success;
}
