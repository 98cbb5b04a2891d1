// gyre data info: prints a summary of a token store.
#include <memory>
#include <nlohmann/json.hpp>

#include "gyre/core/io/json.h"
#include "gyre/data/store/document_store.h"
#include "gyre/data/store/token_store.h"
#include "tools/print_summary.h"
#include "tools/program.h"

namespace gyre {

namespace {

struct InfoArgs {
  Path store;
  bool verify = false, json = false;
};

std::string line_ends_text(const TokenStore& store) {
  if (store.is_of_earlier_version())
    return "not recorded by the earlier version that built the store: none, or all of them with --documents whole";
  return std::string(name_of(store.line_ends().value_or(LineEnds::none)));
}

int info(const InfoArgs& args) {
  const TokenStore store(args.store);
  if (args.verify) store.verify();
  Json tokens = Json::array();
  for (int side = 0; side < store.sides(); ++side) tokens.push_back(store.total_tokens(side));
  const uint64_t documents = count_documents(store);  // each document ends with an empty sentence
  Json summary{{"store", store.name()}, {"sides", store.sides()}};
  if (documents > 0) summary["documents"] = documents;
  summary.update({{"sentences", store.size() - documents},
                  {"tokens", tokens},
                  {"vocabulary_size", store.vocabulary_size()},
                  {"vocabulary_fingerprint", store.fingerprint()}});
  if (documents > 0) summary["line_ends"] = line_ends_text(store);
  print_summary(summary, args.json);
  return 0;
}

}  // namespace

void add_data_info_command(Program& program) {
  auto args = std::make_shared<InfoArgs>();
  OptionTable& table = program.command("data info", "print a summary of a token store", [args] { return info(*args); });
  table.add("--store,--input,-i", args->store, "FILE", "token store");
  table.required("store");
  table.add_flag("--verify", args->verify, "verify the checksums first");
  table.add_flag("--json", args->json, "print one JSON object");
}

}  // namespace gyre
