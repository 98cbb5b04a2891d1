#include "tests/cuda_emulation/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

namespace cuda_emulation {
namespace {

constexpr const char* kMarker = "shared_marker_";

struct Symbol {
  std::string name;  // mangled
  uintptr_t address;
  size_t bytes;
  size_t file;  // number of the source file for local symbols, whose names may repeat; 0 for global ones
  bool is_writable;
};

uintptr_t load_address() {
  uintptr_t address = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* program, size_t, void* to) {
        *static_cast<uintptr_t*>(to) = program->dlpi_addr;
        return 1;  // the program comes first
      },
      &address);
  return address;
}

template <class T>
std::vector<T> read_table(std::ifstream& file, uint64_t offset, uint64_t count) {
  std::vector<T> table(count);
  file.seekg(std::streamoff(offset));
  file.read(reinterpret_cast<char*>(table.data()), std::streamsize(count * sizeof(T)));
  if (!file) throw std::runtime_error("cannot read the symbol table of this program");
  return table;
}

// Functions, and static variables of functions (_ZZ).
std::vector<Symbol> read_symbols() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const auto header = read_table<Elf64_Ehdr>(file, 0, 1)[0];
  const auto sections = read_table<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  const uintptr_t base = load_address();
  std::vector<Symbol> symbols;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr& names = sections[section.sh_link];
    const auto text = read_table<char>(file, names.sh_offset, names.sh_size);
    size_t files = 0;
    for (const auto& s : read_table<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      const unsigned type = ELF64_ST_TYPE(s.st_info);
      if (type == STT_FILE) ++files;
      const std::string name = &text[s.st_name];
      const bool is_variable = type == STT_OBJECT && name.starts_with("_ZZ");
      if ((!is_variable && type != STT_FUNC) || s.st_shndx >= sections.size()) continue;
      const size_t of_file = ELF64_ST_BIND(s.st_info) == STB_LOCAL ? files : 0;
      symbols.push_back(
          {name, base + s.st_value, s.st_size, of_file, (sections[s.st_shndx].sh_flags & SHF_WRITE) != 0});
    }
  }
  return symbols;
}

const std::vector<Symbol>& all_symbols() {
  static const std::vector<Symbol> symbols = read_symbols();
  return symbols;
}

const Symbol& symbol_at(const void* address) {
  static const auto by_address = [] {
    std::map<uintptr_t, const Symbol*> map;
    for (const Symbol& symbol : all_symbols()) map.emplace(symbol.address, &symbol);
    return map;
  }();
  const auto found = by_address.find(reinterpret_cast<uintptr_t>(address));
  if (found == by_address.end())
    throw std::runtime_error("the emulator needs the program's symbol table: do not strip");
  return *found->second;
}

// "void gyre::cuda::(anonymous namespace)::f<float>(int)" -> "f<float>"
std::string short_name(std::string name) {
  constexpr const char* kAnonymous = "(anonymous namespace)::";
  for (size_t at; (at = name.find(kAnonymous)) != name.npos;) name.erase(at, std::strlen(kAnonymous));
  size_t begin = 0, depth = 0, i = 0;
  for (; i < name.size() && (depth > 0 || name[i] != '('); ++i) {
    if (name[i] == '<') ++depth;
    if (name[i] == '>') --depth;
    if (depth == 0 && (name[i] == ' ' || name[i] == ':')) begin = i + 1;
  }
  return name.substr(begin, i - begin);
}

}  // namespace

std::string mangled_name(const void* function) { return symbol_at(function).name; }

std::string function_name(const void* function) {
  const std::string mangled = mangled_name(function);
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  const std::string name = demangled ? short_name(demangled) : mangled;
  std::free(demangled);
  return name;
}

std::vector<Variable> variables_beside(const char* marker) {
  const Symbol& own = symbol_at(marker);
  // The length of the name precedes it, in decimal digits.
  const size_t digits = std::to_string(own.name.size() - own.name.rfind(kMarker)).size();
  const std::string function = own.name.substr(0, own.name.rfind(kMarker) - digits);  // "_ZZ..E"
  std::vector<Variable> variables;
  for (const Symbol& s : all_symbols()) {
    if (!s.is_writable || s.file != own.file || !s.name.starts_with(function)) continue;
    const std::string name = s.name.substr(function.size());
    if (name.find(kMarker) == name.npos) variables.push_back({name, reinterpret_cast<std::byte*>(s.address), s.bytes});
  }
  return variables;
}

}  // namespace cuda_emulation
