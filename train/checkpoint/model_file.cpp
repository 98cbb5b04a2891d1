#include "gyre/train/checkpoint/model_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/core/io/safetensors.h"
#include "gyre/core/version.h"
#include "gyre/data/text/utf8.h"
#include "gyre/train/checkpoint/checkpoint.h"
#include "gyre/train/checkpoint/lora_record.h"
#include "gyre/train/checkpoint/run_directory.h"

namespace gyre {

namespace {

namespace fs = std::filesystem;

// Finds a checkpoint of a run by link, name or path.
Path chosen_checkpoint(const Path& run, const std::string& which) {
  if (which.empty()) {
    for (const char* link : {"best", "last"}) {
      if (const auto target = linked_checkpoint(run, link)) return *target;
    }
    const std::vector<Path> all = list_checkpoints(run);
    require(!all.empty(), "[model] ", run.string(), ": expected a run with checkpoints, found none");
    return all.back();
  }
  if (const auto target = linked_checkpoint(run, which)) return *target;
  Path named = checkpoints_path(run) / which;
  if (fs::is_directory(named)) return named;
  const bool is_link = which == "best" || which == "last" || which == "average";
  require(!is_link || fs::exists(which), "[model] ", run.string(), ": the run has no checkpoint '", which, "'",
          which == "best" ? ": no metric was validated" : "");
  require(fs::exists(which), "[model] ", run.string(), ": expected best, last, average or the name or path of a ",
          "checkpoint, got '", which, "'");
  return which;
}

// The mean of one tensor over all files, summed in f64.
template <class T>
void average_into(const Tensor& out, const std::vector<SafetensorsFile>& files, const std::string& name) {
  std::vector<double> sum(static_cast<size_t>(out.size()));
  for (const SafetensorsFile& file : files) {
    file.read(*file.find(name), out);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(out.data<T>()[i]);
  }
  for (size_t i = 0; i < sum.size(); ++i) out.data<T>()[i] = static_cast<T>(sum[i] / static_cast<double>(files.size()));
}

// Throws unless both files have the same tensor names, shapes and dtypes.
void require_alike(const SafetensorsFile& first, const SafetensorsFile& other) {
  for (const auto& entry : first.entries()) {
    const auto* match = other.find(entry.name);
    require(match != nullptr, "[average] ", other.path().string(), ": tensor ", entry.name, " of ",
            first.path().string(), " is missing");
    require(match->shape == entry.shape && match->dtype == entry.dtype, "[average] ", other.path().string(),
            ": tensor ", entry.name, ": expected ", entry.dtype, " ", entry.shape_text(), " as in ",
            first.path().string(), ", got ", match->dtype, " ", match->shape_text());
  }
  for (const auto& entry : other.entries()) {
    require(first.find(entry.name) != nullptr, "[average] ", other.path().string(), ": tensor ", entry.name,
            " is not in ", first.path().string());
  }
}

Path average_checkpoints(const Path& run, const std::vector<Path>& checkpoints, const std::string& name) {
  std::vector<Path> files;
  for (const Path& checkpoint : checkpoints) {
    files.push_back(find_model_file(checkpoint));
    verify_if_checkpoint(files.back());
  }
  Path output = checkpoints_path(run) / name;
  require(!fs::exists(output) || fs::exists(state_path(output)), "[average] ", output.string(),
          " exists and is not a Gyre checkpoint: rename it first");
  average_models(files, output);
  point_link(run, "average", output);
  return output;
}

}  // namespace

void verify_if_checkpoint(const Path& file) {
  if (fs::exists(state_path(file.parent_path()))) verify_tensors(file);
}

Path find_model_file(const Path& model, const std::string& which) {
  require(fs::exists(model), "[model] ", model.string(), ": expected a run directory, a checkpoint or a safetensors ",
          "file, found nothing");
  if (fs::is_directory(checkpoints_path(model))) return find_model_file(chosen_checkpoint(model, which));
  if (!which.empty()) {
    throw UsageError("[--checkpoint] ", model.string(), " is not a run directory: it has no checkpoint '", which, "'");
  }
  if (!fs::is_directory(model)) return model;
  const std::optional<Path> file = find_safetensors(model);
  require(file.has_value(), "[model] ", model.string(), ": expected ", kModelFile, " or checkpoints in this directory");
  return *file;
}

std::string describe_model(const Path& model, const std::string& which) {
  const Path file = find_model_file(model, which), checkpoint = file.parent_path();
  const Path run = checkpoint.parent_path().parent_path();
  if (checkpoint.parent_path() != checkpoints_path(run)) return file.string();
  const Path name = fs::canonical(checkpoint).filename();  // `checkpoint` may be a link
  std::string links;
  for (const char* link : {"best", "last", "average"}) {
    const auto target = linked_checkpoint(run, link);
    if (target && target->filename() == name) links += concat(links.empty() ? "" : " and ", link);
  }
  const auto last = linked_checkpoint(run, "last");
  if (last && last->filename() != name)
    links += concat(links.empty() ? "" : "; ", "the last is ", last->filename().string());
  return links.empty() ? checkpoint.string() : concat(checkpoint.string(), " (", links, ")");
}

namespace {

std::optional<Path> run_around(const Path& model) {
  // run / checkpoints / step-00001000 / model.safetensors
  constexpr int kDepth = 3;
  Path directory = fs::absolute(model).lexically_normal();
  for (int up = 0; up <= kDepth; ++up) {
    if (fs::exists(config_path(directory))) return directory;
    directory = directory.parent_path();
  }
  return std::nullopt;
}

}  // namespace

Path find_run(const Path& model) {
  if (const auto run = run_around(model)) return *run;
  throw Error("[model] ", model.string(), ": expected config.json in the run directory it belongs to, found none");
}

void load_model_weights(const Path& model, Parameters& parameters, const std::string& which) {
  const Path file = find_model_file(model, which);
  verify_if_checkpoint(file);
  const auto run = run_around(file);
  if (const auto record = run ? find_lora_record(*run) : std::nullopt) {
    load_base(*record, *run, parameters);
    LoraAdapters adapters(parameters, record->options);
    read_adapters(file, parameters, adapters);
    return adapters.merge();
  }
  std::vector<NamedTensor> targets;
  for (const Parameter& p : parameters) targets.push_back({p.name, p.value});
  read_safetensors(open_safetensors(file), targets);
}

TensorDifferences load_common_weights(const Path& model, Parameters& parameters,
                                      const std::function<bool(const std::string& name)>& is_other) {
  const Path file = find_model_file(model);
  verify_if_checkpoint(file);
  const auto run = run_around(file);
  require(!run || !find_lora_record(*run), "[checkpoint] ", model.string(),
          ": expected a whole model for another architecture, found adapters: gyre checkpoint merge writes one");
  const std::vector<SafetensorsFile> files = open_safetensors(file);
  std::set<std::string> only_in_file;
  for (const SafetensorsFile& shard : files)
    for (const SafetensorsEntry& entry : shard.entries()) only_in_file.insert(entry.name);
  TensorDifferences differences;
  std::vector<NamedTensor> targets;
  for (const Parameter& p : parameters) {
    if (!is_other(p.name) && only_in_file.erase(p.name) > 0) {
      targets.push_back({p.name, p.value});
    } else {
      differences.of_model.push_back(p.name);
    }
  }
  require(!targets.empty(), "[safetensors] ", file.string(), ": expected tensors of the model, such as ",
          differences.of_model.front(), "; got ", first_names({only_in_file.begin(), only_in_file.end()}));
  read_safetensors(files, targets,
                   [&](const std::string& name) { return only_in_file.contains(name) ? std::string() : name; });
  differences.of_file.assign(only_in_file.begin(), only_in_file.end());
  return differences;
}

void average_models(const std::vector<Path>& inputs, const Path& output) {
  require(!inputs.empty(), "[average] expected at least one model, got none");
  std::vector<SafetensorsFile> files;
  Json names = Json::array();
  for (const Path& input : inputs) {
    files.emplace_back(input);
    names.push_back(input.string());
    require_alike(files.front(), files.back());
  }
  TensorFile model{kModelFile, {}};
  for (const auto& entry : files.front().entries()) {
    const Tensor tensor = files.front().read(entry);
    if (tensor.dtype() == DType::f32) average_into<float>(tensor, files, entry.name);
    if (tensor.dtype() == DType::f64) average_into<double>(tensor, files, entry.name);
    if (tensor.dtype() == DType::bf16) average_into<bfloat16>(tensor, files, entry.name);
    model.tensors.push_back(source_of({entry.name, tensor}));
  }
  write_directory(output, [&](const Path& directory) {
    write_manifest(directory, {{"gyre", kVersion}, {"averaged", names}}, {model});
  });
}

Path average_last(const Path& run, int n) {
  if (n < 1) throw UsageError("[--last] expected at least 1, got ", n);
  restore_copied_links(run);
  std::vector<Path> all = list_checkpoints(run);
  require(all.size() >= static_cast<size_t>(n), "[average] ", run.string(), ": expected ", n, " checkpoints, found ",
          all.size());
  all.erase(all.begin(), all.end() - n);
  return average_checkpoints(run, all, concat("average-last-", n));
}

Path average_chosen(const Path& run, const std::vector<std::string>& checkpoints) {
  restore_copied_links(run);
  std::vector<Path> chosen;
  const auto own = find_lora_record(run);
  for (const std::string& which : checkpoints) {
    chosen.push_back(chosen_checkpoint(run, which));
    const auto other = own ? find_lora_record(find_run(chosen.back())) : std::nullopt;
    require(!own || (other && other->digest == own->digest && other->options.scale() == own->options.scale()),
            "[average] ", chosen.back().string(), ": expected adapters of the same base and scale as those of ",
            run.string());
  }
  return average_checkpoints(run, chosen, concat("average-", chosen.size(), "-chosen"));
}

}  // namespace gyre
