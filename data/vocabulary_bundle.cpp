#include "data/vocabulary_bundle.h"

#include "core/error.h"

namespace gyre {

namespace {

constexpr std::string_view kStart = R"({"format":"gyre-vocabulary")";
constexpr int kVersion = 1;

}  // namespace

bool VocabularyBundle::recognises(std::string_view content) { return content.starts_with(kStart); }

std::string VocabularyBundle::serialize() const {
  nlohmann::ordered_json header;
  header["format"] = "gyre-vocabulary";
  header["version"] = kVersion;
  header["kind"] = kind;
  header["options"] = options;
  header["parts"] = nlohmann::ordered_json::object();
  std::string body;
  for (const auto& [name, content] : parts) {
    header["parts"][name] = content.size();
    body += content;
  }
  return header.dump() + "\n" + body;
}

VocabularyBundle VocabularyBundle::parse(const std::string& name, std::string_view content) {
  const size_t end = content.find('\n');
  VocabularyBundle bundle;
  try {
    const auto header = nlohmann::ordered_json::parse(content.substr(0, end));
    const int version = header.at("version").get<int>();
    require(version == kVersion, "[vocabulary] ", name, ": expected version ", kVersion, ", got ", version);
    bundle.kind = header.at("kind").get<std::string>();
    bundle.options = header.at("options");
    content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
    for (const auto& [part, bytes] : header.at("parts").items()) {
      const auto size = bytes.get<uint64_t>();
      require(size <= content.size(), "[vocabulary] ", name, ": truncated: expected ", size, " bytes of ", part,
              ", got ", content.size());
      bundle.parts.emplace_back(part, content.substr(0, size));
      content.remove_prefix(size);
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error("[vocabulary] ", name, ":1: ", error.what());
  }
  require(content.empty(), "[vocabulary] ", name, ": ", content.size(), " bytes more than its first line says");
  return bundle;
}

const std::string& VocabularyBundle::part(const std::string& name, const std::string& part_name) const {
  for (const auto& [key, content] : parts) {
    if (key == part_name) return content;
  }
  throw Error("[vocabulary] ", name, ": expected a part named ", part_name);
}

}  // namespace gyre
