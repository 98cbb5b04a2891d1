#include "gyre/core/io/safetensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// Unlike write_file(), does not flush to disk, because the tests write thousands of files.
void write_quickly(const Path& path, const std::string& bytes) {
  std::filesystem::remove(path);  // some file systems flush truncated files to disk
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string open_error(const std::string& bytes) {
  const TemporaryDirectory directory;
  write_quickly(directory / "f.safetensors", bytes);
  try {
    const SafetensorsFile file(directory / "f.safetensors");
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.find((directory / "f.safetensors").string()) != std::string::npos);
    return message;
  }
  return "no error";
}

}  // namespace

TEST_CASE("safetensors: round trip of every dtype and rank") {
  const TemporaryDirectory directory;
  const Tensor bf16 = Tensor::zeros({3}, DType::bf16);
  static_cast<uint16_t*>(bf16.raw())[1] = 0x3F80;
  const std::vector<NamedTensor> tensors{{"odd", bf16},
                                         {"scalar", Tensor::from<float>(Shape(), std::vector<float>{2.5F})},
                                         {"ids", Tensor::from<int32_t>({2, 2}, std::vector<int32_t>{1, -2, 3, -4})},
                                         {"empty", Tensor::zeros({0, 7})},
                                         {"w", Tensor::from<float>({1, 1, 1, 2}, std::vector<float>{0.1F, -0.0F})},
                                         {"d", Tensor::from<double>({1}, std::vector<double>{0.1})}};
  write_safetensors(directory / "f", tensors, {{"format", "pt"}, {"key", "vålue"}});
  const SafetensorsFile file(directory / "f");
  CHECK(file.metadata() == SafetensorsMetadata{{"format", "pt"}, {"key", "vålue"}});
  CHECK(file.entries().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    REQUIRE(file.find(name) != nullptr);
    const auto& found = *file.find(name);
    const Tensor read = file.read(found);
    CHECK(read.shape() == tensor.shape());
    CHECK(read.dtype() == tensor.dtype());
    const bool same = tensor.bytes() == 0 || std::memcmp(read.raw(), tensor.raw(), tensor.bytes()) == 0;
    CHECK(same);
    const bool aligned = reinterpret_cast<uintptr_t>(file.bytes(found).data()) % dtype_bytes(tensor.dtype()) == 0;
    CHECK(aligned);
  }
}

TEST_CASE("safetensors: reads a file written by the Python package") {
  const SafetensorsFile file(source_dir() / "tests/core/golden/reference.safetensors");
  CHECK(file.metadata() == SafetensorsMetadata{{"format", "np"}, {"note", "größer"}});
  CHECK(file.entries().size() == 8);
  const auto floats = [&](const char* name) { return file.read(*file.find(name)).to_vector<float>(); };
  CHECK(floats("weight") == std::vector<float>{-0.5F, -0.25F, 0, 0.25F, 0.5F, 0.75F});
  CHECK(file.find("weight")->shape == std::vector<int64_t>{2, 3});
  CHECK(floats("scalar") == std::vector<float>{3.25F});
  CHECK(floats("empty").empty());
  CHECK(floats("name with ü and \"quotes\"") == std::vector<float>{9});
  CHECK(file.read(*file.find("exact")).to_vector<double>() == std::vector<double>{1e300, -0.1});
  CHECK(file.read(*file.find("ids")).to_vector<int32_t>() == std::vector<int32_t>{-7, 2147483647});
  CHECK(file.find("positions")->dtype == "I64");
  CHECK(file.bytes(*file.find("positions"))[8] == std::byte{1});
  CHECK(file.bytes(*file.find("bytes"))[2] == std::byte{255});
  CHECK_THROWS_WITH_AS(file.read(*file.find("positions")), doctest::Contains("I64 (3) cannot be stored"), Error);
}

TEST_CASE("safetensors: floats are converted to the target's type, other types and shapes must match") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "f", {{"s", Tensor::from<float>({2}, std::vector<float>{0.1F, 2})},
                                      {"d", Tensor::from<double>({2}, std::vector<double>{0.1, 3})},
                                      {"i", Tensor::from<int32_t>({2}, std::vector<int32_t>{1, 2})}});
  const SafetensorsFile file(directory / "f");
  const Tensor single = Tensor::empty({2}), twice = Tensor::empty({2}, DType::f64);
  file.read(*file.find("d"), single);
  CHECK(single.to_vector<float>() == std::vector<float>{0.1F, 3});
  file.read(*file.find("s"), twice);
  CHECK(twice.to_vector<double>() == std::vector<double>{double(0.1F), 2});
  CHECK_THROWS_WITH_AS(file.read(*file.find("i"), single), doctest::Contains("expected F32, got I32"), Error);
  CHECK_THROWS_WITH_AS(file.read(*file.find("s"), Tensor::empty({1, 2})),
                       doctest::Contains("tensor \"s\": expected shape (1, 2), got (2)"), Error);
}

TEST_CASE("safetensors: a strict read reports all mismatches and changes nothing") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "f", {{"a", Tensor::from<float>({1}, std::vector<float>{5})},
                                      {"b", Tensor::zeros({2, 3})},
                                      {"extra", Tensor::zeros({4})}});
  const SafetensorsFile file(directory / "f");
  const Tensor a = Tensor::zeros({1});
  const auto read = [&] { read_safetensors(file, {{"a", a}, {"b", Tensor::zeros({3, 2})}, {"lost", a}}); };
  CHECK_THROWS_WITH_AS(read(), doctest::Contains("wrong shape: b expected (3, 2), got (2, 3)"), Error);
  CHECK_THROWS_WITH_AS(read(), doctest::Contains("missing: lost (1)"), Error);
  CHECK_THROWS_WITH_AS(read(), doctest::Contains("unexpected: \"extra\" (4)"), Error);
  CHECK(a.data<float>()[0] == 0);
}

TEST_CASE("safetensors: tensors of a file can be renamed or skipped") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "f", {{"old.a", Tensor::from<float>({1}, std::vector<float>{5})},
                                      {"b", Tensor::from<float>({1}, std::vector<float>{6})},
                                      {"extra", Tensor::zeros({4})}});
  const SafetensorsFile file(directory / "f");
  const auto without_old = [](const std::string& name) {
    if (name == "extra") return std::string();
    return name.starts_with("old.") ? name.substr(4) : name;
  };
  const Tensor a = Tensor::zeros({1}), b = Tensor::zeros({1});
  read_safetensors({&file, 1}, {{"a", a}, {"b", b}}, without_old);
  CHECK(a.data<float>()[0] == 5);
  CHECK(b.data<float>()[0] == 6);
  CHECK_THROWS_WITH_AS(read_safetensors({&file, 1}, {{"a", Tensor::zeros({2})}, {"b", b}}, without_old),
                       doctest::Contains("wrong shape: old.a expected (2), got (1)"), Error);
  const auto all_one = [](const std::string&) { return std::string("a"); };
  CHECK_THROWS_WITH_AS(read_safetensors({&file, 1}, {{"a", a}}, all_one),
                       doctest::Contains(R"(duplicate: "b" and "old.a" map to the same tensor)"), Error);
}

TEST_CASE("safetensors: a file written tensor by tensor must follow its plan") {
  const TemporaryDirectory directory;
  const Tensor ones = Tensor::from<float>({2}, std::vector<float>{1, 2}), number = Tensor::zeros({1}, DType::i32);
  const auto start = [&] {
    return SafetensorsWriter(directory / "f", {{"x", DType::f32, {2}}, {"n", DType::i32, {1}}}, {});
  };
  {
    SafetensorsWriter writer = start();
    CHECK_THROWS_WITH_AS(writer.write(number), doctest::Contains("tensor x: expected f32 (2), got i32 (1)"), Error);
    writer.write(ones);
    CHECK_THROWS_WITH_AS(writer.commit(), doctest::Contains("expected 2 tensors, got 1"), Error);
    CHECK(!std::filesystem::exists(directory / "f"));
    writer.write(number);
    CHECK_THROWS_WITH_AS(writer.write(number), doctest::Contains("expected at most 2 tensors"), Error);
    writer.commit();
  }
  write_safetensors(directory / "g", {{"x", ones}, {"n", number}}, {});
  CHECK(read_file(directory / "f") == read_file(directory / "g"));
}

TEST_CASE("safetensors: a duplicate name gives an error and no file") {
  const TemporaryDirectory directory;
  const Tensor t = Tensor::zeros({1});
  CHECK_THROWS_WITH_AS(write_safetensors(directory / "f", {{"a", t}, {"a", t}}),
                       doctest::Contains("duplicate tensor name 'a'"), Error);
  CHECK_THROWS_AS(write_safetensors(directory / "f", {{"__metadata__", t}}), Error);
  CHECK(!std::filesystem::exists(directory / "f"));
}

TEST_CASE("safetensors: truncated files are rejected, and a flipped bit of the header is rejected or harmless") {
  const TemporaryDirectory directory;
  write_safetensors(directory / "f", {{"a", Tensor::zeros({2, 2})}, {"b", Tensor::zeros({3})}});
  const std::string good = read_file(directory / "f");
  for (size_t length = 0; length < good.size(); ++length) {
    CHECK(open_error(good.substr(0, length)) != "no error");
  }
  const size_t header_end = good.find('}', good.find("\"b\"")) + 2;
  for (size_t bit = 0; bit < header_end * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    write_quickly(directory / "bad", bad);
    try {
      const SafetensorsFile file(directory / "bad");
      for (const auto& found : file.entries()) CHECK(file.bytes(found).size() == found.end - found.begin);
    } catch (const Error&) {
    }
  }
}

TEST_CASE("safetensors: a large file with many tensors") {
  const TemporaryDirectory directory;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < 2000; ++i) {
    const Tensor t = Tensor::empty({i % 7, 1000});
    std::fill_n(t.data<float>(), t.size(), static_cast<float>(i));
    tensors.push_back({"layer." + std::to_string(i), t});
  }
  write_safetensors(directory / "f", tensors);
  const SafetensorsFile file(directory / "f");
  std::vector<NamedTensor> targets;
  for (const auto& [name, t] : tensors) targets.push_back({name, t.like()});
  read_safetensors(file, targets);
  for (size_t i = 0; i < tensors.size(); ++i) {
    CHECK(targets[i].tensor.to_vector<float>() == tensors[i].tensor.to_vector<float>());
  }
}
