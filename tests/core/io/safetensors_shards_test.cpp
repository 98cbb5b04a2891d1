#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gyre/core/error.h"
#include "gyre/core/io/safetensors.h"
#include "tests/temporary_directory.h"

using namespace gyre;

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
  try {
    open_safetensors(directory / kIndex);
  } catch (const Error& error) {
    const std::string message = error.what();
    CHECK(message.find((directory / kIndex).string()) != message.npos);
    return message;
  }
  return "no error";
}

void check_error(const std::string& index, const std::string& expected) {
  const TemporaryDirectory directory;
  write_shards(directory);
  const std::string message = error_with(directory, index);
  CAPTURE(message);
  CHECK(message.find(expected) != message.npos);
}

}  // namespace

TEST_CASE("safetensors shards: all shards are read as one model") {
  const TemporaryDirectory directory;
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

TEST_CASE("safetensors shards: tensors that the index does not list are left out") {
  const TemporaryDirectory directory;
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
