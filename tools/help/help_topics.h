// The pages of `gyre help TOPIC`, for subjects that concern more than one option.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace gyre {

struct HelpTopic {
  std::string_view name, summary;
  std::string_view text;            // lines of at most 80 characters
  std::string (*more)() = nullptr;  // text that follows, if there is any

  std::string page() const { return std::string(text) + (more == nullptr ? "" : more()); }
};

std::span<const HelpTopic> help_topics();
// Null if there is no such topic.
const HelpTopic* help_topic(std::string_view name);

}  // namespace gyre
