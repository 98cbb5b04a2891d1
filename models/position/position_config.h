// The choice of a position encoding and the options of all encodings. Each encoding declares its options in its own
// file, as a struct with a member function
//   std::vector<PositionOption> describe();
// that lists them. config.json, the command line and its help are derived from these lists; the encodings read the
// structs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <typeinfo>
#include <variant>
#include <vector>

#include "gyre/core/enum_names.h"
#include "gyre/core/option_list.h"

namespace gyre {

// The commands that have an option.
enum class PositionOptionScope : uint8_t {
  encoding,         // every command that makes an encoding, for training or to show it
  training,         // commands that make models: the option matters for trained parameters only
  cross_attention,  // commands that make encoder-decoders
};

struct PositionOption {
  using Value = std::variant<bool*, int64_t*, double*, std::vector<double>*, EnumPointer>;

  const char* name;  // the key in config.json; the flag has hyphens in place of underscores: "shaw_clip", --shaw-clip
  Value value;       // the field of the struct, which holds the default at first
  const char* unit = "";                  // unit of numbers: "TOKENS"
  const char* help = "";                  // one line
  std::vector<std::string> aliases = {};  // further names, of other programs
  PositionOptionScope scope = PositionOptionScope::encoding;
  // Names of options that have no effect while this one has its present value. To give one of them is an error.
  std::vector<std::string> disables = {};
};

// Adds the options of this scope to the list, as --shaw-clip for "shaw_clip". `read`: the options that are read at
// present, by which a message says why one is not: none of them has its name (`otherwise`), or one disables it.
void declare(OptionList& list, const std::vector<PositionOption>& options, PositionOptionScope scope,
             const std::function<std::vector<PositionOption>()>& read,
             const std::function<std::string()>& otherwise = nullptr);

// A struct of options behind an interface.
class PositionOptionGroup {
 public:
  virtual ~PositionOptionGroup() = default;
  virtual std::unique_ptr<PositionOptionGroup> clone() const = 0;
  virtual void assign(const PositionOptionGroup& other) = 0;  // other: options of the same type
  virtual const std::type_info& type() const = 0;             // type of the struct
  virtual std::vector<PositionOption> describe() = 0;
};

template <class Options>
class PositionOptionGroupOf final : public PositionOptionGroup {
 public:
  std::unique_ptr<PositionOptionGroup> clone() const override { return std::make_unique<PositionOptionGroupOf>(*this); }
  void assign(const PositionOptionGroup& other) override {
    options = static_cast<const PositionOptionGroupOf&>(other).options;
  }
  const std::type_info& type() const override { return typeid(Options); }
  std::vector<PositionOption> describe() override { return options.describe(); }

  Options options;
};

// Holds the options of every encoding, whichever is chosen, with their defaults at first. Assignment keeps the
// addresses of the options, so that rows of a command line can refer to them.
class PositionConfig {
 public:
  PositionConfig() : PositionConfig("rope") {}
  explicit PositionConfig(std::string name);
  PositionConfig(const PositionConfig& other);
  PositionConfig& operator=(const PositionConfig& other);
  ~PositionConfig() = default;

  std::string encoding;  // one of position_encoding_names()

  // A struct that an encoding declares.
  template <class Options>
  Options& get() {
    return static_cast<PositionOptionGroupOf<Options>&>(find(typeid(Options))).options;
  }
  template <class Options>
  const Options& get() const {
    return static_cast<const PositionOptionGroupOf<Options>&>(find(typeid(Options))).options;
  }

  // All options, each once, in the order of the table of encodings: struct by struct, and as one list. Their values
  // point into this config.
  std::vector<std::vector<PositionOption>> option_groups();
  std::vector<PositionOption> options();
  // The options that the chosen encoding reads. Throws for an unknown encoding.
  std::vector<PositionOption> options_read();
  // Adds --position and the options of all encodings, except those for cross-attention. This config must outlive the
  // list.
  void declare(OptionList& list);
  void declare_cross_attention(OptionList& list);

 private:
  PositionOptionGroup& find(const std::type_info& type) const;

  std::vector<std::unique_ptr<PositionOptionGroup>> groups_;
};

}  // namespace gyre
