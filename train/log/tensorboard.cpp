#include "gyre/train/log/tensorboard.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <string>

#include "gyre/core/error.h"

namespace gyre {
namespace {

// Protocol buffer wire types.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <class Integer>
void put_fixed(std::string& out, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) out += char(value >> (8 * i));
}

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += char(value | 0x80);
  out += char(value);
}

void put_key(std::string& out, uint32_t field, Wire wire) { put_varint(out, field << 3 | wire); }

void put_bytes(std::string& out, uint32_t field, std::string_view bytes) {
  put_key(out, field, kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

// proto3 omits a field that is zero.
void put_step(std::string& out, int64_t step) {
  if (step == 0) return;
  put_key(out, 2, kVarint);
  put_varint(out, uint64_t(step));
}

// The format rotates and shifts the CRC: a CRC over data that include their own CRC would be weak.
uint32_t masked_crc(std::string_view data) {
  const uint32_t crc = crc32c(data.data(), data.size());
  return std::rotr(crc, 15) + 0xa282ead8U;
}

std::string file_name(double now) {
  static std::atomic<int> files = 0;  // distinguishes files of one process in the same second
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {"localhost"};
  return concat("events.out.tfevents.", int64_t(now), ".", host.data(), ".", getpid(), ".", files++);
}

Path new_file(const Path& directory, double now) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  require(!failure, "[tensorboard] cannot create ", directory.string(), ": ", failure.message());
  return directory / file_name(now);
}

}  // namespace

EventWriter::EventWriter(const Path& directory, Clock clock)
    : clock_(std::move(clock)), file_(new_file(directory, clock_()), "[tensorboard]") {
  std::string version;
  put_bytes(version, 3, "brain.Event:2");
  write_event(version);
  flush();
}

void EventWriter::session_start(int64_t step) {
  constexpr char kStart = 1;
  std::string fields;
  put_step(fields, step);
  put_bytes(fields, 7, std::string{char(1 << 3 | kVarint), kStart});
  write_event(fields);
}

void EventWriter::scalar(std::string_view tag, double value, int64_t step) {
  std::string entry;
  put_bytes(entry, 1, tag);
  put_key(entry, 2, kFixed32);
  put_fixed(entry, std::bit_cast<uint32_t>(float(value)));
  std::string summary;
  put_bytes(summary, 1, entry);
  std::string fields;
  put_step(fields, step);
  put_bytes(fields, 5, summary);
  write_event(fields);
}

void EventWriter::flush() {
  file_.append(records_);
  records_.clear();
}

void EventWriter::write_event(std::string_view fields) {
  std::string event;
  put_key(event, 1, kFixed64);
  put_fixed(event, std::bit_cast<uint64_t>(clock_()));
  event += fields;
  std::string length;
  put_fixed(length, uint64_t(event.size()));
  records_ += length;
  put_fixed(records_, masked_crc(length));
  records_ += event;
  put_fixed(records_, masked_crc(event));
}

}  // namespace gyre
