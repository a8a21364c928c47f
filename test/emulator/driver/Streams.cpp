//===- Streams.cpp - streams, events, captures ----------------------------===//
#include "test/emulator/driver/Driver.h"

namespace emulator {
namespace {

bool isNull(void *handle) { // CU_STREAM_LEGACY is 1
  return !handle || handle == reinterpret_cast<void *>(1);
}

} // namespace

void flush(Stream &stream) {
  while (!stream.work.empty()) {
    Work work = std::move(stream.work.front());
    stream.work.pop_front();
    try {
      work();
    } catch (const Fault &fault) {
      driver().fault = fault;
      stream.work.clear();
      throw;
    }
  }
}

void flushBlocking() {
  flush(driver().null);
  for (Stream *stream : driver().streams)
    if (stream->blocking)
      flush(*stream);
}

void flushAll() {
  flush(driver().null);
  for (Stream *stream : driver().streams)
    flush(*stream);
}

Stream &streamOf(void *handle) {
  if (isNull(handle))
    return driver().null;
  auto *stream = static_cast<Stream *>(handle);
  require(driver().streams.count(stream), Result::InvalidHandle, "no stream");
  return *stream;
}

void enqueue(void *handle, Work work) {
  Stream &stream = streamOf(handle);
  if (stream.captured) {
    stream.captured->work.push_back(std::move(work));
    return;
  }
  if (isNull(handle)) {
    refuseWhileCapturing();
    for (Stream *other : driver().streams)
      if (other->blocking)
        flush(*other);
  } else if (stream.blocking)
    flush(driver().null);
  stream.work.push_back(std::move(work));
}

bool capturing(void *handle) { return streamOf(handle).captured != nullptr; }

void refuseWhileCapturing() {
  for (Stream *stream : driver().streams)
    require(!stream->captured, Result::StreamCaptureUnsupported, "a stream is being captured");
}

} // namespace emulator

using namespace emulator;

EMULATED_CUDA cuStreamCreate(Stream **stream, unsigned flags) {
  return inContext("cuStreamCreate", [&] {
    *stream = new Stream;
    (*stream)->blocking = !(flags & 1);
    driver().streams.insert(*stream);
  });
}

EMULATED_CUDA cuStreamCreateWithPriority(Stream **stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}

EMULATED_CUDA cuStreamSynchronize(void *stream) {
  return inContext("cuStreamSynchronize", [&] {
    require(!capturing(stream), Result::StreamCaptureUnsupported, "the stream is being captured");
    if (!isNull(stream))
      return flush(streamOf(stream));
    refuseWhileCapturing();
    flushBlocking();
  });
}

// Somebody who asks gets an answer that changes: what is asked for is done by then.
EMULATED_CUDA cuStreamQuery(void *stream) {
  bool busy = false;
  int code = inContext("cuStreamQuery", [&] {
    busy = !streamOf(stream).work.empty();
    flush(streamOf(stream));
  });
  return code ? code : int(busy ? Result::NotReady : Result::Success);
}

EMULATED_CUDA cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  return inContext("cuLaunchHostFunc", [&] { enqueue(stream, [=] { function(data); }); });
}

EMULATED_CUDA cuStreamDestroy_v2(Stream *stream) {
  return inContext("cuStreamDestroy", [&] {
    flush(streamOf(stream));
    require(driver().streams.erase(stream), Result::InvalidHandle, "no stream");
    for (Event *event : driver().events)
      if (event->stream == stream)
        event->stream = nullptr;
    delete stream;
  });
}

EMULATED_CUDA cuStreamWaitEvent(void *stream, Event *event, unsigned) {
  return inContext("cuStreamWaitEvent", [&] {
    require(driver().events.count(event), Result::InvalidHandle, "no event");
    if (event->stream && !capturing(stream))
      flush(*event->stream);
  });
}

EMULATED_CUDA cuEventCreate(Event **event, unsigned) {
  return inContext("cuEventCreate", [&] { driver().events.insert(*event = new Event); });
}

EMULATED_CUDA cuEventDestroy_v2(Event *event) {
  return inContext("cuEventDestroy", [&] {
    require(driver().events.erase(event), Result::InvalidHandle, "no event");
    delete event;
  });
}

EMULATED_CUDA cuEventRecord(Event *event, void *stream) {
  return inContext("cuEventRecord", [&] {
    require(driver().events.count(event), Result::InvalidHandle, "no event");
    event->stream = capturing(stream) ? nullptr : &streamOf(stream);
    event->time.reset();
    enqueue(stream, [event, record = ++event->records] {
      if (!driver().events.count(event) || event->records != record)
        return;
      event->time = std::chrono::steady_clock::now();
      event->stream = nullptr;
    });
  });
}

EMULATED_CUDA cuEventSynchronize(Event *event) {
  return inContext("cuEventSynchronize", [&] {
    require(driver().events.count(event), Result::InvalidHandle, "no event");
    if (event->stream)
      flush(*event->stream);
  });
}

EMULATED_CUDA cuEventQuery(Event *event) {
  bool busy = false;
  int code = inContext("cuEventQuery", [&] {
    require(driver().events.count(event), Result::InvalidHandle, "no event");
    busy = event->stream != nullptr;
    if (busy)
      flush(*event->stream);
  });
  return code ? code : int(busy ? Result::NotReady : Result::Success);
}

EMULATED_CUDA cuEventElapsedTime_v2(float *milliseconds, Event *begin, Event *end) {
  return inContext("cuEventElapsedTime", [&] {
    require(driver().events.count(begin) && driver().events.count(end), Result::InvalidHandle,
            "no event");
    require(begin->time && end->time,
            begin->stream || end->stream ? Result::NotReady : Result::InvalidHandle,
            "an event that has not been reached");
    *milliseconds = std::chrono::duration<float, std::milli>(*end->time - *begin->time).count();
  });
}

EMULATED_CUDA cuEventElapsedTime(float *milliseconds, Event *begin, Event *end) {
  return cuEventElapsedTime_v2(milliseconds, begin, end);
}

EMULATED_CUDA cuStreamBeginCapture_v2(void *stream, int) {
  return inContext("cuStreamBeginCapture", [&] {
    require(!isNull(stream), Result::StreamCaptureUnsupported, "the null stream is not captured");
    require(!capturing(stream), Result::InvalidValue, "the stream is being captured");
    streamOf(stream).captured = std::make_unique<Graph>();
  });
}

EMULATED_CUDA cuStreamIsCapturing(void *stream, int *status) {
  return inContext("cuStreamIsCapturing", [&] { *status = capturing(stream); });
}

EMULATED_CUDA cuStreamEndCapture(void *stream, Graph **graph) {
  return inContext("cuStreamEndCapture", [&] {
    require(capturing(stream), Result::InvalidValue, "the stream is not being captured");
    *graph = streamOf(stream).captured.release();
    driver().graphs.insert(*graph);
  });
}
