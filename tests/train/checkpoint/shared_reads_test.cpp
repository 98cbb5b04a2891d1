#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gyre/core/io/safetensors.h"
#include "gyre/train/checkpoint/checkpoint_writer.h"
#include "tests/temporary_directory.h"

using namespace gyre;

namespace {

// Two files with tensors of several widths, which are written in another order than they are read: wide ones first.
// Every tensor has its number as its value, and `made` gets the numbers of the reads.
std::vector<TensorFile> mixed_files(std::vector<int>& made) {
  constexpr DType kTypes[] = {DType::bf16, DType::f32, DType::f64, DType::f32, DType::i32, DType::f64};
  std::vector<TensorFile> files{{"a.safetensors", {}}, {"b.safetensors", {}}};
  for (int number = 0; number < 12; ++number) {
    const DType dtype = kTypes[number % 6];
    const auto read = [&made, number, dtype] {
      made.push_back(number);
      Tensor tensor = Tensor::zeros({2}, dtype);
      static_cast<char*>(tensor.raw())[0] = char(number);
      return tensor;
    };
    files[size_t(number / 6)].tensors.push_back({std::to_string(number), dtype, Shape{2}, read});
  }
  return files;
}

const std::vector<int> kInOrder{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

}  // namespace

TEST_CASE("shared reads: tensors of several widths have their own data, and the reads keep the order of the ranks") {
  const TemporaryDirectory directory;
  std::vector<int> made;
  std::vector<TensorFile> files = mixed_files(made);
  {
    const SharedReads reads(files);
    write_manifest(directory.path(), nlohmann::ordered_json::object(), files);
  }
  CHECK(made == kInOrder);
  verify_manifest(directory.path());
  for (int number = 0; number < 12; ++number) {
    CAPTURE(number);
    const SafetensorsFile file(directory / files[size_t(number / 6)].name);
    const auto* entry = file.find(std::to_string(number));
    REQUIRE(entry != nullptr);
    CHECK(int(file.bytes(*entry).front()) == number);
  }
}

TEST_CASE("shared reads: the other ranks do not wait for the reads of a file that could not be written") {
  std::vector<int> made;
  std::vector<TensorFile> files = mixed_files(made);
  {
    const SharedReads reads(files);
    files[0].tensors[4].read();
    CHECK(made == std::vector<int>{0, 1, 2, 3, 4});
  }
  CHECK(made == kInOrder);
}
