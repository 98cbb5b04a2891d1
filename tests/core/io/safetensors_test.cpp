#include "gyre/core/io/safetensors.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/float16.h"
#include "tests/errors.h"
#include "tests/source_dir.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

std::string open_error(const std::string& bytes) {
  const TemporaryDirectory directory;
  put_file(directory / "f.safetensors", bytes);
  const std::string error = error_of([&] { SafetensorsFile(directory / "f.safetensors"); });
  CHECK((error == "no error" || contains(error, (directory / "f.safetensors").string())));
  return error;
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "safetensors: round trip of every dtype and rank") {
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

TEST_CASE_FIXTURE(InDirectory,
                  "safetensors: floats are converted to the target's type, other types and shapes must match") {
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

TEST_CASE_FIXTURE(InDirectory, "safetensors: a strict read reports all mismatches and changes nothing") {
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

TEST_CASE_FIXTURE(InDirectory, "safetensors: tensors of a file can be renamed or skipped") {
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

TEST_CASE_FIXTURE(InDirectory, "safetensors: a file written tensor by tensor must follow its plan") {
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

TEST_CASE_FIXTURE(InDirectory, "safetensors: a duplicate name gives an error and no file") {
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
    put_file(directory / "bad", bad);
    error_of([&] {
      const SafetensorsFile file(directory / "bad");
      for (const auto& found : file.entries()) CHECK(file.bytes(found).size() == found.end - found.begin);
    });
  }
}

TEST_CASE_FIXTURE(InDirectory, "safetensors: a large file with many tensors") {
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

namespace {

// A file with one tensor "a" of these elements. The header has an odd length, so that the elements are unaligned.
template <class T>
SafetensorsFile file_of(const TemporaryDirectory& directory, const std::string& dtype, const std::vector<T>& values) {
  const size_t bytes = values.size() * sizeof(T);
  std::string header = R"({"a":{"dtype":")" + dtype + R"(","shape":[)" + std::to_string(values.size()) +
                       R"(],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
  if (header.size() % 2 == 0) header += ' ';
  const uint64_t length = header.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += header + std::string(reinterpret_cast<const char*>(values.data()), bytes);
  std::filesystem::remove(directory / "f");
  write_file(directory / "f", file);
  return SafetensorsFile(directory / "f");
}

template <class To, class T>
std::vector<To> read_as(const std::string& dtype, const std::vector<T>& values) {
  const TemporaryDirectory directory;
  const SafetensorsFile file = file_of(directory, dtype, values);
  const Tensor out = Tensor::empty({static_cast<int64_t>(values.size())}, dtype_of<To>());
  file.read(*file.find("a"), out);
  return out.to_vector<To>();
}

using Ints = std::vector<int32_t>;

}  // namespace

TEST_CASE("safetensors: every F16 number is converted exactly") {
  std::vector<uint16_t> halves(65536);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  const std::vector<float> floats = read_as<float>("F16", halves);
  const std::vector<double> doubles = read_as<double>("F16", halves);
  size_t wrong = 0;
  for (size_t i = 0; i < halves.size(); ++i) {
    const int exponent = static_cast<int>(i >> 10 & 31), mantissa = static_cast<int>(i & 1023);
    double expected = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (exponent == 31) expected = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
    expected = std::copysign(expected, i >> 15 ? -1.0 : 1.0);
    const auto same = [&](double x) {
      return std::isnan(expected) ? std::isnan(x) : x == expected && std::signbit(x) == std::signbit(expected);
    };
    wrong += !same(floats[i]) + !same(doubles[i]);
  }
  CHECK(wrong == 0);
}

TEST_CASE("safetensors: floats are converted to the requested float type") {
  const std::vector<uint16_t> brains{0x3F80, 0xC049, 0x7F80, 0x0001};
  const float least = std::ldexp(1.0F, -133);
  CHECK(read_as<float>("BF16", brains) == std::vector<float>{1, -3.140625F, HUGE_VALF, least});
  CHECK(read_as<double>("BF16", brains) == std::vector<double>{1, -3.140625, HUGE_VAL, least});
  CHECK(read_as<float>("F64", std::vector<double>{0.1, -0.0, 1e300}) == std::vector<float>{0.1F, -0.0F, HUGE_VALF});
  CHECK(read_as<double>("F32", std::vector<float>{0.1F}) == std::vector<double>{double(0.1F)});
  const std::vector<bfloat16> rounded = read_as<bfloat16>("F32", std::vector<float>{1.00390625F, 1.01171875F});
  CHECK(rounded[0].bits == 0x3F80);  // halfway: to even
  CHECK(rounded[1].bits == 0x3F82);
  CHECK(read_as<bfloat16>("F16", std::vector<uint16_t>{0x3C00})[0].bits == 0x3F80);
  CHECK(read_as<float>("F16", std::vector<uint16_t>()).empty());
}

TEST_CASE("safetensors: integers are converted to i32 if they fit") {
  constexpr int32_t least = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
  CHECK(read_as<int32_t>("I64", std::vector<int64_t>{-1, 0, least, most}) == Ints{-1, 0, least, most});
  CHECK(read_as<int32_t>("U64", std::vector<uint64_t>{7, most}) == Ints{7, most});
  CHECK(read_as<int32_t>("U32", std::vector<uint32_t>{7, most}) == Ints{7, most});
  CHECK(read_as<int32_t>("I16", std::vector<int16_t>{-32768, 5}) == Ints{-32768, 5});
  CHECK(read_as<int32_t>("U16", std::vector<uint16_t>{65535}) == Ints{65535});
  CHECK(read_as<int32_t>("I8", std::vector<int8_t>{-128, 127}) == Ints{-128, 127});
  CHECK(read_as<int32_t>("U8", std::vector<uint8_t>{255}) == Ints{255});
  CHECK(read_as<int32_t>("BOOL", std::vector<uint8_t>{1, 0}) == Ints{1, 0});
  CHECK_THROWS_WITH_AS(read_as<int32_t>("I64", std::vector<int64_t>{0, int64_t{most} + 1}),
                       doctest::Contains("tensor \"a\": element 1 is 2147483648, which i32 cannot hold"), Error);
  CHECK_THROWS_WITH_AS(read_as<int32_t>("U64", std::vector<uint64_t>{UINT64_MAX}),
                       doctest::Contains("element 0 is 18446744073709551615"), Error);
  CHECK_THROWS_AS(read_as<int32_t>("U32", std::vector<uint32_t>{1U << 31}), Error);
}

TEST_CASE("safetensors: conversions between integers and floats, or of other types, are rejected") {
  CHECK_THROWS_WITH_AS(read_as<float>("I64", std::vector<int64_t>{1}),
                       doctest::Contains("tensor \"a\": expected F32, got I64"), Error);
  CHECK_THROWS_WITH_AS(read_as<int32_t>("F32", std::vector<float>{1}), doctest::Contains("expected I32, got F32"),
                       Error);
  CHECK_THROWS_WITH_AS(read_as<float>("F8_E4M3", std::vector<uint8_t>{1}),
                       doctest::Contains("expected F32, got F8_E4M3"), Error);
  CHECK_THROWS_AS(read_as<float>("C64", std::vector<uint64_t>{1}), Error);
}

// ---- Comparison with the Python package ----------------------------------------------------------------------------
// Compares results for small valid and invalid files with those of the Python package
// (golden/make_safetensors_cases.py).

using nlohmann::json;

namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

void check_tensors(const SafetensorsFile& file, const json& expected) {
  CHECK(file.entries().size() == expected.size());
  for (const auto& [name, tensor] : expected.items()) {
    const auto* entry = file.find(name);
    REQUIRE(entry != nullptr);
    CHECK(entry->dtype == tensor["dtype"].get<std::string>());
    CHECK(entry->shape == tensor["shape"].get<std::vector<int64_t>>());
    const auto bytes = file.bytes(*entry);
    CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == from_hex(tensor["hex"]));
  }
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "safetensors: every rule of the format, compared with the Python package") {
  const Path path = directory / "case.safetensors";
  size_t read = 0, refused = 0, stricter = 0;
  for (const json& item : json::parse(read_file(source_dir() / "tests/core/golden/safetensors_cases.json"))) {
    const std::string rule = item["rule"], expected = item.value("expect", "");
    CAPTURE(rule);
    put_file(path, from_hex(item["file"]));
    stricter += item.contains("stricter");
    const std::string error = error_of([&] {
      const SafetensorsFile file(path);
      check_tensors(file, item["python"]["tensors"]);
    });
    CAPTURE(error);
    if (expected.empty()) {
      CHECK(error == "no error");
      ++read;
    } else {
      CHECK(error.starts_with("[safetensors] " + path.string() + ": "));
      CHECK(contains(error, expected));
      ++refused;
    }
  }
  CHECK(read > 30);
  CHECK(refused > 50);
  CHECK(stricter == 9);
}

namespace {

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";

Tensor one_value(float x) { return Tensor::from<float>({1}, std::vector<float>{x}); }

// Tensors a and b in the first shard, c in the second.
void write_shards(const TemporaryDirectory& directory) {
  write_safetensors(directory / kFirst, {{"a", one_value(1)}, {"b", one_value(2)}});
  write_safetensors(directory / kSecond, {{"c", one_value(3)}});
}

std::string place(const char* tensor, const std::string& shard) {
  return std::string("\"") + tensor + "\":\"" + shard + "\"";
}

std::string index_of(const std::string& places) {
  return R"({"metadata":{"total_size":12},"weight_map":{)" + places + "}}";
}

std::string error_with(const TemporaryDirectory& directory, const std::string& index) {
  write_file(directory / kIndex, index);
  const std::string error = error_of([&] { open_safetensors(directory / kIndex); });
  CHECK((error == "no error" || contains(error, (directory / kIndex).string())));
  return error;
}

void check_error(const std::string& index, const std::string& expected) {
  const TemporaryDirectory directory;
  write_shards(directory);
  const std::string message = error_with(directory, index);
  CAPTURE(message);
  CHECK(message.find(expected) != message.npos);
}

}  // namespace

TEST_CASE_FIXTURE(InDirectory, "safetensors shards: all shards are read as one model") {
  write_shards(directory);
  write_file(directory / kIndex, index_of(place("c", kSecond) + "," + place("a", kFirst) + "," + place("b", kFirst)));
  const std::vector<SafetensorsFile> files = open_safetensors(directory / kIndex);
  CHECK(files.size() == 2);
  const Tensor a = Tensor::zeros({1}), b = Tensor::zeros({1}), c = Tensor::zeros({1});
  read_safetensors(files, {{"c", c}, {"b", b}, {"a", a}});
  CHECK(a.to_vector<float>() == std::vector<float>{1});
  CHECK(b.to_vector<float>() == std::vector<float>{2});
  CHECK(c.to_vector<float>() == std::vector<float>{3});
  const auto ask_too_much = [&] { read_safetensors(files, {{"a", a}, {"b", b}, {"d", c}}); };
  CHECK_THROWS_WITH_AS(ask_too_much(), doctest::Contains("missing: d (1)"), Error);
  CHECK_THROWS_WITH_AS(ask_too_much(), doctest::Contains("unexpected: \"c\" (1)"), Error);
  CHECK_THROWS_WITH_AS(ask_too_much(), doctest::Contains("00001-of-00002.safetensors and 1 more"), Error);
  CHECK(open_safetensors(directory / kSecond).size() == 1);
}

TEST_CASE("safetensors shards: errors name missing shards and tensors") {
  const std::string all = place("a", kFirst) + "," + place("b", kFirst) + "," + place("c", kSecond);
  check_error(index_of(all + "," + place("d", "model-00003.safetensors")),
              "shard \"model-00003.safetensors\" is missing");
  check_error(index_of(all + "," + place("d", kSecond)), "00002-of-00002.safetensors: tensor \"d\" is missing");
  const TemporaryDirectory directory;
  write_shards(directory);
  std::filesystem::resize_file(directory / kSecond, std::filesystem::file_size(directory / kSecond) - 1);
  write_file(directory / kIndex, index_of(all));
  CHECK_THROWS_WITH_AS(open_safetensors(directory / kIndex),
                       doctest::Contains("00002-of-00002.safetensors: the tensors end at offset 4"), Error);
}

TEST_CASE_FIXTURE(InDirectory, "safetensors shards: tensors that the index does not list are left out") {
  write_shards(directory);
  write_file(directory / kIndex, index_of(place("a", kFirst) + "," + place("c", kSecond)));
  const std::vector<SafetensorsFile> files = open_safetensors(directory / kIndex);
  CHECK(files[0].left_out() == std::vector<std::string>{"b"});
  CHECK(files[0].find("b") == nullptr);
  const Tensor a = Tensor::zeros({1}), c = Tensor::zeros({1});
  read_safetensors(files, {{"a", a}, {"c", c}});
  CHECK(a.to_vector<float>() == std::vector<float>{1});
  CHECK(c.to_vector<float>() == std::vector<float>{3});
}

TEST_CASE("safetensors shards: an invalid index is rejected") {
  check_error("", "not valid JSON");
  check_error("[]", "expected an object with \"weight_map\"");
  check_error("{}", "expected an object with \"weight_map\"");
  check_error(R"({"weight_map":[]})", "expected an object with \"weight_map\"");
  check_error(index_of(""), "lists no tensor");
  check_error(R"({"weight_map":{"a":1}})", "tensor \"a\": expected the name of a file");
  check_error(index_of(place("a", kFirst) + "," + place("a", kSecond)), "duplicate key \"a\"");
  check_error(R"({"metadata":[[[[]]]]})", "nested too deeply");
  for (const char* elsewhere : {"", ".", "..", "../x", "/etc/passwd", "a/b", "a\\u0000b"}) {
    check_error(index_of(place("a", elsewhere)), "expected the name of a file in the directory of the index");
  }
}
