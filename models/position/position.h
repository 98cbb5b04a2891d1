// Position encodings. An encoding is a plug-in: one file in this folder, and a declaration and a row in
// factory.cpp. A class overrides the hooks of PositionEncoding at which the literature adds positions; the other hooks
// leave their input as it is.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "gyre/autograd/ops.h"
#include "gyre/core/enum_names.h"
#include "gyre/core/option_list.h"
#include "gyre/core/segments.h"

namespace gyre {

// Groups of the options of an encoding that not all commands have: those for trained parameters only, in commands that
// make models, and those of encoder-decoders. They select options and are no headings of the help, in which
// PositionConfig::declare() lists the options of all encodings under one.
inline constexpr const char *kTrainedPositions = "trained", *kCrossAttentionPositions = "cross-attention";

// The key of an option in config.json: shaw_clip for --shaw-clip.
std::string key_of(const Option& option);

// A struct of options behind an interface.
class PositionOptionGroup {
 public:
  virtual ~PositionOptionGroup() = default;
  virtual std::unique_ptr<PositionOptionGroup> clone() const = 0;
  virtual void assign(const PositionOptionGroup& other) = 0;  // other: options of the same type
  virtual const std::type_info& type() const = 0;             // type of the struct
  virtual void declare(OptionList& list) = 0;
};

template <class Options>
class PositionOptionGroupOf final : public PositionOptionGroup {
 public:
  std::unique_ptr<PositionOptionGroup> clone() const override { return std::make_unique<PositionOptionGroupOf>(*this); }
  void assign(const PositionOptionGroup& other) override {
    options = static_cast<const PositionOptionGroupOf&>(other).options;
  }
  const std::type_info& type() const override { return typeid(Options); }
  void declare(OptionList& list) override { options.declare(list); }

  Options options;
};

// The choice of a position encoding and the options of all encodings. Each encoding declares its options in its own
// file, as a struct with a member function
//   void declare(OptionList& list);
// that lists them. config.json, the command line and its help are derived from these lists; the encodings read the
// structs. The options of every encoding exist, whichever is chosen, with their defaults at first. Assignment keeps the
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

  // All options, each once, in the order of the table of encodings, and those that the chosen encoding reads. Their
  // values point into this config. options_read() throws for an unknown encoding.
  OptionList options();
  OptionList options_read();
  // Adds --position and the options of all encodings, with their keys in config.json, such as "position/shaw_clip" for
  // --shaw-clip. Those of cross-attention are no options of a model without it. This config must outlive the list.
  void declare(OptionList& list, bool has_cross_attention = false);

 private:
  PositionOptionGroup& find(const std::type_info& type) const;
  // The reason why the chosen encoding does not read the option; empty if it does.
  std::string reason_unused(const std::string& option);

  std::vector<std::unique_ptr<PositionOptionGroup>> groups_;
};

// A request for the position terms of one layer, for segments of up to `longest` tokens.
struct PositionTermsRequest {
  int layer = 0;
  int64_t longest = 0;
  bool causal = false;       // no key is after its query
  DType dtype = DType::f32;  // dtype of parameters
};

class PositionEncoding {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  virtual ~PositionEncoding() = default;
  // Adds the encoding of `positions`, i32 (n), to embeddings x(n, dim).
  virtual Var add_to_embeddings(const Var& x, const Tensor& /*positions*/) const { return x; }
  // The rotation of queries and keys for positions below `positions`, in the dtype of the parameters. Undefined:
  // queries and keys are not rotated.
  virtual Rope rotation(Tape& /*tape*/, DType /*dtype*/, int64_t /*positions*/) const { return {}; }
  // True if the rotation applies to the values of self-attention too.
  virtual bool rotates_values() const { return false; }
  // The position terms of a layer's self-attention for the distances -(longest - 1) .. 0 if causal, otherwise up to
  // longest - 1.
  virtual PositionTerms terms(Tape& /*tape*/, const PositionTermsRequest&) const { return {}; }
  // True if the encoding depends on distances only, so that positions can start at any number.
  virtual bool is_relative() const { return true; }
  // The length of the longest sentence that has positions. A longer one is an error.
  virtual int64_t longest() const { return kUnlimited; }

  // Some of the functions above cache tables. Threads that share a model must hold this lock while they call them.
  std::unique_lock<std::mutex> lock() const { return std::unique_lock(mutex_); }

 private:
  mutable std::mutex mutex_;
};

// The widths of a model that limit the options of an encoding.
struct PositionWidths {
  int64_t dim, head;
  int64_t rotated;  // features of a head that a rotation applies to
};

// The arguments of an encoding's constructor. Parameters are registered as `name`.something.
struct PositionContext {
  const PositionConfig& config;
  int64_t dim;
  int64_t heads;
  Parameters& parameters;
  std::string name;
  double initial_deviation = 0;  // standard deviation of tables of positions; 0: 1/sqrt(dim)
  int64_t layers = 1;            // number of layers of the stack
  int64_t rotated_width = 0;     // features of a head that a rotation applies to; 0: dim / heads

  int64_t head_width() const { return dim / heads; }
  PositionWidths widths() const { return {dim, head_width(), rotated_width > 0 ? rotated_width : head_width()}; }
  std::string layer_name(int64_t layer) const { return name + ".layers." + std::to_string(layer); }
  // The initial values of a table of positions, and of a projection (dim, dim).
  Init table_init() const;
  Init projection_init() const;
};

// An entry of the table of encodings in factory.cpp.
struct PositionEncodingType {
  std::unique_ptr<PositionEncoding> (*make)(const PositionContext& context);
  void (*check)(const PositionConfig& config, const PositionWidths& widths);  // throws for options out of range
  bool adds_to_scores;                                                        // the encoding overrides terms()
  std::vector<std::shared_ptr<const PositionOptionGroup>> options;            // options with their defaults
};

// The type of a class whose constructor is Encoding(const PositionContext&, const Options&...). It registers the
// parameters, and receives the structs of options that the encoding reads, and no others. If they can be out of range,
// the class has a static function check(const PositionWidths&, const Options&...), which is called first.
template <class Encoding, class... Options>
PositionEncodingType position_encoding() {
  return {.make = [](const PositionContext& context) -> std::unique_ptr<PositionEncoding> {
            return std::make_unique<Encoding>(context, context.config.get<Options>()...);
          },
          .check =
              [](const PositionConfig& config, const PositionWidths& widths) {
                if constexpr (requires { &Encoding::check; }) Encoding::check(widths, config.get<Options>()...);
              },
          .adds_to_scores = !std::is_same_v<decltype(&Encoding::terms), decltype(&PositionEncoding::terms)>,
          .options = {std::make_shared<const PositionOptionGroupOf<Options>>()...}};
}

std::vector<std::string> position_encoding_names();
// Throws "[position] expected one of ..." for an unknown name.
const PositionEncodingType& position_encoding_type(const std::string& name);
// Throws for an unknown name and for options out of range.
void check_position_encoding(const PositionConfig& config, const PositionWidths& widths);
// Makes the encoding that context.config chooses, after check_position_encoding().
std::unique_ptr<PositionEncoding> make_position_encoding(const PositionContext& context);

// The positions 0, 1, .. of each segment, plus `offset`: i32 (rows of the segments).
Tensor segment_positions(const Segments& segments, int offset = 0);

// Throws "[encoding] ..." unless every position is below `limit`: positions beyond a table are errors.
void check_positions(const char* encoding, const Tensor& positions, int64_t limit);
// Throws the same error unless a sentence of `length` tokens fits.
void check_length(const char* encoding, int64_t length, int64_t limit);

// Positions of the rows of a batch, i32 (n), their rotation, and the encoding that makes a layer's terms.
struct RowPositions {
  Tensor positions;
  Rope rotation;
  const PositionEncoding* encoding = nullptr;  // null: no terms
  int64_t longest = 0;                         // the terms cover distances below this
};

}  // namespace gyre
