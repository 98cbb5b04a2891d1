// Checks of the tensors in the files of a model of Hugging Face, shared by its families.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gyre/core/io/safetensors.h"

namespace gyre {

struct TensorReport;  // models/hugging_face/weights.h

struct FoundTensor {
  const SafetensorsFile* file;
  const SafetensorsEntry* entry;
};
// The tensor of this name; nullopt if no file has it.
std::optional<FoundTensor> find_tensor(std::span<const SafetensorsFile> files, std::string_view name);

// Throws an Error that names the file and the tensor unless all elements of the tensors that `target_name` maps to a
// name are finite, as f32; those of a training that diverged are not.
void require_finite(std::span<const SafetensorsFile> files, const TargetName& target_name);

// Throws an Error that says `what` was expected if a file contains tensor `name` with values that differ from
// `expected`, f32, by more than `tolerance`.
void require_repeats(std::span<const SafetensorsFile> files, const std::string& name, const Tensor& expected,
                     double tolerance, const std::string& what);

// Adds the tensors of files to a report: those that are read, and those without a target name, which repeat others.
void add_tensors(std::span<const SafetensorsFile> files, const TargetName& target_name, TensorReport& report);

}  // namespace gyre
