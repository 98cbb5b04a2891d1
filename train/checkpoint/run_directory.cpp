#include "gyre/train/checkpoint/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"
#include "gyre/data/tokenizer/tokenizer_config.h"
#include "gyre/models/hugging_face/generation_config.h"
#include "gyre/train/checkpoint/checkpoint.h"

namespace gyre {
namespace {

std::string holder() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return concat("process ", static_cast<long>(::getpid()), " on ", host.data(), "\n");
}

}  // namespace

RunLock::RunLock(const Path& run) {
  const Path path = run / ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  require(descriptor_ >= 0, "[lock] ", path.string(), ": cannot open: ", std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    ::close(std::exchange(descriptor_, -1));
    require(error == EWOULDBLOCK, "[lock] ", path.string(), ": cannot lock: ", std::strerror(error));
    std::string other = read_file(path);
    while (!other.empty() && other.back() == '\n') other.pop_back();
    throw Error("[lock] ", run.string(), ": another job uses this run directory: ", other);
  }
  // The text is used only in the error message above.
  const std::string text = holder();
  if (::ftruncate(descriptor_, 0) != 0 || ::write(descriptor_, text.data(), text.size()) < 0) {
    const int error = errno;
    ::close(std::exchange(descriptor_, -1));
    throw Error("[lock] ", path.string(), ": cannot write: ", std::strerror(error));
  }
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStep = "step-";
constexpr std::string_view kAverage = "average-";
constexpr std::string_view kTemporary = ".tmp";
constexpr std::string_view kReplaced = ".old";

// Converts errors of std::filesystem to Error.
template <class Call>
auto guarded(Call&& call) {
  try {
    return call();
  } catch (const fs::filesystem_error& error) {
    throw Error("[run] ", error.path1().string(), ": ", error.code().message());
  }
}

std::vector<Path> entries_of(const Path& directory) {
  std::vector<Path> entries;
  if (!fs::exists(directory)) return entries;
  for (const auto& entry : fs::directory_iterator(directory)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

Path hidden_path(const Path& target, std::string_view suffix) {
  return target.parent_path() / concat(".", target.filename().string(), suffix);
}

Path temporary_path(const Path& target) { return hidden_path(target, kTemporary); }

// Whether there is an entry of this name, a dangling link too.
bool is_taken(const Path& path) { return fs::exists(fs::symlink_status(path)); }

// Whether a name has the form ".NAME.tmp-PID-N" that AtomicFile gives to unfinished files.
bool is_temporary_name(const std::string& name) {
  static const std::regex pattern(R"(\..+\.tmp-[0-9]+-[0-9]+)");
  return std::regex_match(name, pattern);
}

// Whether Gyre gives this name to entries of checkpoints/.
bool is_checkpoint_name(const std::string& name) {
  return checkpoint_updates(name) || name.starts_with(kAverage) || name == "best" || name == "last" ||
         name == "average";
}

// Whether a config.json comes from Gyre: it names the kind of the model.
bool is_own_config(const Path& config) {
  const auto json = find_json(read_file(config));
  return json && json->is_object() && json->contains("model");
}

bool holds_run(const Path& directory) {
  const std::vector<Path> checkpoints = list_checkpoints(directory);
  if (std::any_of(checkpoints.begin(), checkpoints.end(), [](const Path& c) { return fs::exists(state_path(c)); }))
    return true;
  return fs::is_regular_file(config_path(directory)) && is_own_config(config_path(directory));
}

// Whether a directory without a run may contain this entry: a vocabulary, hidden files, logs of the job's launcher, and
// the remains of an interrupted start.
bool is_allowed_without_run(const Path& path) {
  const std::string name = path.filename().string(), extension = path.extension().string();
  if (name == "checkpoints" && fs::is_directory(path)) {
    const std::vector<Path> inside = entries_of(path);
    return std::all_of(inside.begin(), inside.end(), [](const Path& p) {
      return p.filename().string().starts_with('.') || is_checkpoint_name(p.filename().string());
    });
  }
  return name.starts_with('.') || name.starts_with("vocab.") || extension == ".log" || extension == ".out" ||
         extension == ".err";
}

void require_own(const Path& directory) {
  if (!fs::is_directory(directory) || holds_run(directory)) return;
  for (const Path& path : entries_of(directory)) {
    require(is_allowed_without_run(path), "[run] ", directory.string(),
            ": expected a new or empty directory or a run of Gyre, found ", path.filename().string(),
            ", which Gyre did not create; use another directory");
  }
}

// Copies of a run without symbolic links (cp -rL, object stores, archives of other systems) have directories in their
// place. Returns the checkpoint that such a directory is a copy of: state.json has the checksums of all its tensors.
std::optional<Path> original_of_copy(const Path& run, const Path& copy) {
  if (!fs::exists(state_path(copy))) return std::nullopt;
  const std::string state = read_file(state_path(copy));
  for (const Path& path : entries_of(checkpoints_path(run))) {
    const std::string name = path.filename().string();
    const bool is_named = checkpoint_updates(path) || name.starts_with(kAverage);
    if (is_named && fs::exists(state_path(path)) && read_file(state_path(path)) == state) return path;
  }
  return std::nullopt;
}

// Throws an Error unless the copy of a checkpoint can be removed without a loss: the checkpoint itself is whole, and
// has every file of the copy.
void require_redundant(const Path& copy, const Path& original) {
  try {
    verify_manifest(original);
  } catch (const Error& error) {
    throw Error("[run] ", copy.string(), ": expected a copy of a whole checkpoint, but ", original.string(),
                " is damaged (", error.what(), "): remove that one and give the copy its name, or remove the copy");
  }
  const Json tensors = read_manifest(original).at("tensors");
  for (const Path& path : entries_of(copy)) {
    const Path same = original / path.filename();
    const bool is_file = fs::is_regular_file(fs::symlink_status(path)) && fs::is_regular_file(same);
    const bool is_verified = tensors.contains(path.filename().string());
    require(is_file && (is_verified || read_file(path) == read_file(same)), "[run] ", path.string(),
            ": expected only the files of ", original.string(), " in its copy; move this one out of ", copy.string());
  }
}

// The checkpoint that a copy becomes if the checkpoint itself was not copied: state.json has the number of updates of a
// run, and the files of an average. nullopt for other directories.
std::optional<Path> checkpoint_of_state(const Path& run, const Path& copy) {
  if (!fs::exists(state_path(copy))) return std::nullopt;
  const auto state = find_json(read_file(state_path(copy)));
  if (!state || !state->is_object()) return std::nullopt;
  if (copy.filename() == "average") {
    const auto files = state->find("averaged");
    if (files == state->end() || !files->is_array()) return std::nullopt;
    return checkpoints_path(run) / concat(kAverage, "last-", files->size());
  }
  const Json::json_pointer at("/progress/updates");
  if (!state->contains(at) || !state->at(at).is_number_unsigned()) return std::nullopt;
  return checkpoint_path(run, state->at(at).get<uint64_t>());
}

// How to make a link again in a run that was copied without them.
struct LinkOfCopy {
  const char* link;
  Path copy, target;
  bool is_only = false;  // the checkpoint itself was not copied: the copy takes its place
};

// Checks the directory in place of a link. others: the links before this one. Throws an Error that says what to do if a
// link would lose what the directory has.
LinkOfCopy find_link_of_copy(const Path& run, const char* link, const std::vector<LinkOfCopy>& others) {
  const Path copy = checkpoints_path(run) / link;
  if (const auto original = original_of_copy(run, copy)) {
    require_redundant(copy, *original);
    return {link, copy, *original};
  }
  const auto target = checkpoint_of_state(run, copy);
  const bool is_average = std::string_view(link) == "average", is_directory = fs::is_directory(copy);
  require(target.has_value(), "[run] ", copy.string(), ": expected a link or a copy of a checkpoint, found ",
          is_directory ? "another directory" : "a file", "; remove it",
          is_average && is_directory ? ", or keep it under another name, such as average-kept" : "");
  const auto same =
      std::ranges::find_if(others, [&](const LinkOfCopy& each) { return each.is_only && each.target == *target; });
  if (same == others.end() && !fs::exists(*target)) return {link, copy, *target, true};
  require(!is_average, "[run] ", copy.string(), ": expected a link or a copy of ", target->string(),
          ", found another average: remove it, or keep it under another name, such as average-kept");
  const Path& other = same == others.end() ? *target : same->copy;
  require(same != others.end() && read_file(state_path(other)) == read_file(state_path(copy)), "[run] ", copy.string(),
          ": expected a link or a copy of ", other.string(),
          ", found another checkpoint of this update: remove one of ",
          "the two (gyre checkpoint verify tells whether one is damaged)");
  require_redundant(copy, other);
  return {link, copy, *target};
}

// The links in whose place a run that was copied without them has something else.
std::vector<const char*> missing_links(const Path& run) {
  std::vector<const char*> links{"best", "last", "average"};
  std::erase_if(links, [&](const char* link) {
    const Path path = checkpoints_path(run) / link;
    return fs::is_symlink(path) || !fs::exists(path);
  });
  return links;
}

// Renames `temporary` to `target` and removes an existing entry of that name. The two are exchanged atomically if the
// file system supports it. Otherwise the old entry has a hidden name until the new one has its place, and
// remove_leftovers() gives its name back after a crash.
void replace_entry(const Path& temporary, const Path& target) {
  if (!is_taken(target)) return fs::rename(temporary, target);
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(temporary);
    return;
  }
  const Path replaced = hidden_path(target, kReplaced);
  fs::remove_all(replaced);
  fs::rename(target, replaced);
  fs::rename(temporary, target);
  fs::remove_all(replaced);
}

// Returns the path of a new link under its temporary name. The link is relative, so that the run directory can be
// moved.
Path make_temporary_link(const Path& link, const Path& target) {
  Path temporary = temporary_path(link);
  fs::remove(temporary);
  fs::create_directory_symlink(target.filename(), temporary);
  return temporary;
}

}  // namespace

std::string run_name(const Path& run) {
  return fs::absolute(run / ".").lexically_normal().parent_path().filename().string();
}

std::optional<uint64_t> checkpoint_updates(const Path& checkpoint) {
  const std::string name = checkpoint.filename().string();
  if (!name.starts_with(kStep)) return std::nullopt;
  const char *first = name.data() + kStep.size(), *last = name.data() + name.size();
  uint64_t updates = 0;
  const auto [end, error] = std::from_chars(first, last, updates);
  return error == std::errc() && end == last ? std::optional(updates) : std::nullopt;
}

Path checkpoint_path(const Path& run, uint64_t updates) {
  std::ostringstream name;
  name << kStep << std::setw(8) << std::setfill('0') << updates;
  return checkpoints_path(run) / name.str();
}

std::vector<Path> list_checkpoints(const Path& run) {
  return guarded([&] {
    std::vector<Path> found;
    for (const Path& path : entries_of(checkpoints_path(run))) {
      if (checkpoint_updates(path) && fs::is_directory(path)) found.push_back(path);
    }
    // Shorter names first: names get longer from 10^8 updates on.
    std::stable_sort(found.begin(), found.end(), [](const Path& a, const Path& b) {
      return a.filename().string().size() < b.filename().string().size();
    });
    return found;
  });
}

bool continues(const StartOptions& options) {
  return !options.overwrite && !options.directory.empty() && !list_checkpoints(options.directory).empty();
}

std::optional<Path> linked_checkpoint(const Path& run, const std::string& link) {
  return guarded([&]() -> std::optional<Path> {
    const Path path = checkpoints_path(run) / link;
    if (!fs::is_directory(path)) return std::nullopt;
    if (fs::is_symlink(path)) return checkpoints_path(run) / fs::read_symlink(path).filename();
    return original_of_copy(run, path).value_or(path);
  });
}

void restore_copied_links(const Path& run) {
  // Only a run without links needs the lock: a job that trains the run has made them.
  if (!guarded([&] { return missing_links(run); }).empty()) RunDirectory{run};
}

void write_directory(const Path& target, const std::function<void(const Path&)>& fill) {
  const Path temporary = temporary_path(target);
  try {
    guarded([&] {
      fs::remove_all(temporary);
      fs::create_directories(temporary);
      fill(temporary);
      flush_to_disk(temporary);
      replace_entry(temporary, target);
    });
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  flush_to_disk(target.parent_path());
}

void point_link(const Path& run, const std::string& link, const Path& target) {
  const Path path = checkpoints_path(run) / link;
  guarded([&] {
    const bool is_free = !is_taken(path) || fs::is_symlink(path);
    require(is_free, "[run] ", path.string(), ": expected a link or nothing, found an entry that Gyre did not create");
    fs::rename(make_temporary_link(path, target), path);
  });
  flush_to_disk(checkpoints_path(run));
}

const char* to_string(SaveStage stage) { return kSaveStageNames.at(size_t(stage)); }

RunDirectory::RunDirectory(Path path)
    : path_(std::move(path)),
      is_new_(guarded([&] {
        require_own(path_);
        return fs::create_directories(path_);
      })),
      lock_(path_) {
  guarded([&] {
    remove_leftovers();
    fs::create_directories(checkpoints_path(path_));
    restore_links();
    if (fs::exists(log())) old_log_ = fs::file_size(log());
  });
  flush_to_disk(path_);
}

void RunDirectory::abandon() const {
  std::error_code ignored;
  if (!is_new_ || fs::exists(config(), ignored) || !fs::is_empty(checkpoints_path(path_), ignored)) return;
  fs::remove(checkpoints_path(path_), ignored);
  fs::remove(log(), ignored);
  fs::remove(path_ / ".lock", ignored);
  fs::remove(path_, ignored);  // fails, as intended, if another program has put a file into it
}

void RunDirectory::remove_other_vocabularies(const Path& kept) const {
  guarded([&] {
    for (const Path& path : entries_of(path_)) {
      const Path name = path.filename();
      if (name.string().starts_with("vocab.") && name != kept.filename()) fs::remove(path);
    }
  });
}

std::vector<Path> RunDirectory::prune(int keep_last, uint64_t keep_every) const {
  if (keep_last <= 0) return {};
  const std::vector<Path> all = list_checkpoints(path_);
  std::set<Path> kept;
  for (size_t i = all.size() - std::min(all.size(), static_cast<size_t>(keep_last)); i < all.size(); ++i) {
    kept.insert(all[i].filename());
  }
  for (const char* link : {"best", "last"}) {
    if (const auto target = linked_checkpoint(path_, link)) kept.insert(target->filename());
  }
  std::vector<Path> removed;
  guarded([&] {
    for (const Path& checkpoint : all) {
      if (kept.count(checkpoint.filename()) > 0) continue;
      if (keep_every > 0 && *checkpoint_updates(checkpoint) % keep_every == 0) continue;
      // Rename first: a partly removed checkpoint must never have a checkpoint's name.
      const Path temporary = temporary_path(checkpoint);
      fs::rename(checkpoint, temporary);
      fs::remove_all(temporary);
      removed.push_back(checkpoint);
    }
  });
  return removed;
}

void RunDirectory::restore_links() const {
  // An error leaves the run as it is: all copies are checked before the first one is replaced.
  std::vector<LinkOfCopy> links;
  for (const char* link : missing_links(path_)) links.push_back(find_link_of_copy(path_, link, links));
  for (const LinkOfCopy& each : links) {
    // The link exists before its copy goes, so that remove_leftovers() can complete it after a crash.
    const Path temporary = make_temporary_link(each.copy, each.target);
    if (each.is_only) fs::rename(each.copy, each.target);
    replace_entry(temporary, each.copy);
  }
  if (!links.empty()) flush_to_disk(checkpoints_path(path_));
}

void RunDirectory::remove_leftovers() const {
  // Returns the name of a checkpoint or link that has this hidden name with the suffix; an empty path for others.
  const auto owner_of = [](const Path& path, std::string_view suffix) -> Path {
    const std::string name = path.filename().string();
    if (!name.starts_with('.') || !name.ends_with(suffix)) return {};
    const std::string owner = name.substr(1, name.size() - 1 - suffix.size());
    return is_checkpoint_name(owner) ? path.parent_path() / owner : Path();
  };
  for (const Path& directory : {path_, checkpoints_path(path_)}) {
    for (const Path& path : entries_of(directory)) {  // .NAME.old before .NAME.tmp
      if (fs::symlink_status(path).type() == fs::file_type::regular) {
        if (is_temporary_name(path.filename().string())) fs::remove(path);
        continue;
      }
      for (const std::string_view suffix : {kReplaced, kTemporary}) {
        const Path owner = owner_of(path, suffix);
        if (owner.empty()) continue;
        // A crash between two renames left the name free. A link is complete if its target exists.
        const bool is_complete = suffix == kReplaced || (fs::is_symlink(path) && fs::exists(path));
        if (is_complete && !is_taken(owner)) {
          fs::rename(path, owner);
        } else {
          fs::remove_all(path);
        }
      }
    }
  }
}

void RunDirectory::remove_old_run() const {
  guarded([&] {
    for (const Path& path : entries_of(checkpoints_path(path_))) {
      const bool is_own = is_checkpoint_name(path.filename().string());
      if (is_own && (fs::is_symlink(path) || fs::is_directory(path))) fs::remove_all(path);
    }
    for (const Path& path : {config(), options(), task(), lora_path(path_), metrics(), path_ / kChatTemplateFile,
                             path_ / kGenerationConfigFile})
      fs::remove(path);
    for (const Path& path : entries_of(path_)) {
      if (path.filename().string().starts_with("events.out.tfevents.")) fs::remove(path);
    }
    remove_old_log();
  });
}

// The file stays, because a logger may have opened it.
void RunDirectory::remove_old_log() const {
  if (old_log_ == 0) return;
  const std::string text = read_file(log());
  fs::resize_file(log(), 0);
  std::ofstream(log(), std::ios::app) << text.substr(std::min<size_t>(text.size(), old_log_));
}

}  // namespace gyre
