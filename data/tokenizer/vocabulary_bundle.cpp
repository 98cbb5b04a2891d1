#include "gyre/data/tokenizer/vocabulary_bundle.h"

#include "gyre/core/error.h"
#include "gyre/core/io/json.h"

namespace gyre {

namespace {

constexpr std::string_view kStart = R"({"format":"gyre-vocabulary")";
constexpr int kBundleVersion = 1;

}  // namespace

bool VocabularyBundle::recognizes(std::string_view content) { return content.starts_with(kStart); }

std::string VocabularyBundle::serialize() const {
  Json header;
  header["format"] = "gyre-vocabulary";
  header["version"] = kBundleVersion;
  header["kind"] = kind;
  header["options"] = options;
  header["parts"] = Json::object();
  std::string body;
  for (const auto& [name, content] : parts) {
    header["parts"][name] = content.size();
    body += content;
  }
  return header.dump() + "\n" + body;
}

VocabularyBundle VocabularyBundle::parse(const std::string& name, std::string_view content) {
  constexpr int kDeepest = 2;  // the header, its options or parts
  const size_t end = content.find('\n');
  const std::string context = concat("[vocabulary] ", name, ":1: ");
  const auto header = parse_strict_json(content.substr(0, end), kDeepest, context, "the first line");
  content.remove_prefix(end == std::string_view::npos ? content.size() : end + 1);
  VocabularyBundle bundle;
  try {
    const auto& version = header.at("version");
    require(version == kBundleVersion, context, "expected version ", kBundleVersion, ", got ",
            cut_for_message(version.dump()));
    bundle.kind = header.at("kind").get<std::string>();
    bundle.options = header.at("options");
    for (const auto& [part, bytes] : header.at("parts").items()) {
      require(bytes.is_number_unsigned(), context, "expected a number of bytes for ", quoted_for_message(part));
      const auto size = bytes.get<uint64_t>();
      require(size <= content.size(), "[vocabulary] ", name, ": truncated: expected ", size, " bytes of ",
              cut_for_message(part), ", got ", content.size());
      bundle.parts.emplace(part, content.substr(0, size));
      content.remove_prefix(size);
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(context, json_reason(error));
  }
  require(content.empty(), "[vocabulary] ", name, ": expected the size given in the first line, got ", content.size(),
          " more bytes");
  return bundle;
}

const std::string& VocabularyBundle::part(const std::string& name, const std::string& part_name) const {
  const auto place = parts.find(part_name);
  require(place != parts.end(), "[vocabulary] ", name, ": expected a part named ", part_name);
  return place->second;
}

}  // namespace gyre
