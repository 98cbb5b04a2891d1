# Makes HTML of the public headers, from their declarations and the comments above them, for tools/scripts/docs.sh:
#   awk -v folder=OUTPUT -f api.awk pass=1 HEADER.. pass=2 HEADER..
# Writes api.html, an index of all headers and names, and a page of each library, api-core.html. The first pass finds
# the names, so that the second can link to them.

function escaped(text) {
  gsub(/&/, "\\&amp;", text)
  gsub(/</, "\\&lt;", text)
  gsub(/>/, "\\&gt;", text)
  return text
}

# Text of a comment, with its `code`.
function marked(text,    html) {
  text = escaped(text)
  while (match(text, /`[^`]+`/)) {
    html = html substr(text, 1, RSTART - 1) "<code>" substr(text, RSTART + 1, RLENGTH - 2) "</code>"
    text = substr(text, RSTART + RLENGTH)
  }
  return html text
}

# A comment as paragraphs. Its indented lines, such as formulas, keep their form.
function prose(comment,    lines, count, i, html, open, kind) {
  count = split(comment, lines, "\n")
  for (i = 1; i < count; ++i) {
    kind = lines[i] ~ /^  / ? "pre" : lines[i] == "" ? "" : lines[i] ~ /^- / ? "p class=\"item\"" : open ~ /^p/ ? open : "p"
    if (kind != open || lines[i] ~ /^- /) {
      if (open != "") html = html "</" substr(open, 1, open == "pre" ? 3 : 1) ">\n"
      if (kind != "") html = html "<" kind ">"
    } else if (kind != "") {
      html = html "\n"
    }
    html = html (kind == "pre" ? escaped(lines[i]) : marked(lines[i]))
    open = kind
  }
  return open == "" ? html : html "</" substr(open, 1, open == "pre" ? 3 : 1) ">\n"
}

# Code with links from the types to where they are declared.
function linked(code,    html, name) {
  while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
    name = substr(code, RSTART, RLENGTH)
    html = html escaped(substr(code, 1, RSTART - 1))
    html = html (is_type[name] ? "<a href=\"" place[name] "\">" name "</a>" : name)
    code = substr(code, RSTART + RLENGTH)
  }
  return html escaped(code)
}

# The name that a line of code at the outermost level declares; empty if it declares none.
function declared(line) {
  if (line ~ /^(class|struct|union|enum class) .*[{]/) {
    sub(/^(class|struct|union|enum class) (alignas\([^)]*\) )?/, "", line)
    match(line, /^[A-Za-z_0-9]+/)
    return substr(line, 1, RLENGTH)
  }
  if (line ~ /^using [A-Za-z0-9_]+ =/) {
    sub(/^using /, "", line)
    return substr(line, 1, index(line, " ") - 1)
  }
  if (line ~ /^inline constexpr/ && match(line, /[ *&]k[A-Z][A-Za-z0-9]*/)) return substr(line, RSTART + 1, RLENGTH - 1)
  sub(/^requires [^ ]* /, "", line)
  while (gsub(/<[^<>]*>/, "", line)) continue
  if (line !~ /^[A-Za-z]/ || line ~ /^(template|static_assert)|operator/ || is_definition(line)) return ""
  if (!match(line, /[A-Za-z_][A-Za-z0-9_]*\(/)) return ""
  return substr(line, RSTART, RLENGTH - 1)
}

# Whether a line begins the definition of a member that its class has declared.
function is_definition(line) {
  while (gsub(/<[^<>]*>/, "", line)) continue
  return line ~ /^[A-Za-z][^(=]*[A-Za-z0-9_]::[A-Za-z0-9_]+\(/ || line ~ /^[A-Z][A-Za-z]*::[A-Za-z0-9_]+\(/
}

# Ends an entry: a comment and the code below it.
function end_entry() {
  sub(/\n+};$/, "\n};", code)
  if (is_defined) code = comment = ""
  is_defined = 0
  if (pass == 2 && code != "") {
    printf "%s%s", anchors, prose(comment) > page
    printf "<pre><code>%s</code></pre>\n", linked(code) > page
  } else if (pass == 2 && comment != "") {
    printf "%s", prose(comment) > page
  }
  code = comment = anchors = ""
}

function declare(name) {
  if (name == "" || (library, name) in seen) return
  seen[library, name] = pass
  if (pass == 1 && !(name in place)) {
    place[name] = "api-" library ".html#" name
    is_type[name] = name ~ /^[A-Z]/
    names[++number_of_names] = name
  }
}

function depth_after(line,    text) {
  sub(/ *\/\/.*/, "", line)
  gsub(/"[^"]*"|'.'/, "", line)
  text = line
  return depth + gsub(/[{]/, "", line) - gsub(/[}]/, "", text)
}

FNR == 1 {
  end_entry()
  library = substr(FILENAME, 1, index(FILENAME, "/") - 1)
  page = folder "/api-" library ".html"
  depth = is_inside = is_private = is_body = 0
  if (pass == 2 && !(library in pages)) {
    pages[library] = 1
    printf "<h1>API: %s</h1>\n<p>All names: <a href=\"api.html\">index</a>.</p>\n", library > page
  }
  heading = FILENAME
}

!is_inside {
  if ($0 ~ /^namespace gyre(::[a-z_]+)? [{]/) is_inside = 1
  if (heading == "") next
  if ($0 ~ /^\/\//) {
    comment = comment substr($0, 4) "\n"
    next
  }
  if (pass == 1) about[++number_of_headers] = heading "\n" comment
  if (pass == 2) printf "<h2>%s</h2>\n", heading > page
  heading = ""
  end_entry()
  next
}

depth == 0 && /^}  \/\/ namespace gyre/ { end_entry(); is_inside = 0; next }
depth == 0 && /^(namespace [a-z_]+ [{]|}  \/\/ namespace)/ { end_entry(); next } # within gyre
depth == 0 && /^(class|struct|enum class) [A-Za-z_]+( : [a-z0-9_]+)?;/ { next } # declared elsewhere
depth == 0 && /^\/\/ ----/ {
  end_entry()
  gsub(/^\/\/ -+ | -+$/, "")
  if (pass == 2) printf "<h3 class=\"group\">%s</h3>\n", $0 > page
  next
}
depth == 0 && /^$/ { end_entry(); next }
depth == 0 && /^\/\// {
  if (code != "") end_entry()
  comment = comment substr($0, 4) "\n"
  next
}

{
  before = depth
  depth = depth_after($0)
  if (before == 0) {
    is_body = 0
    is_defined += is_definition($0)
    name = declared($0)
    declare(name)
    if (pass == 2 && name != "" && seen[library, name]++ == 1) anchors = anchors "<a id=\"" name "\"></a>"
  }
  if (is_body) next
  if (depth > 0 && code !~ /(^|\n)(class|struct|union|enum class) / && $0 ~ /(\)|const|noexcept) [{]$/) { # of a function
    is_body = 1
    sub(/ [{]$/, ";")
  }
  if ($0 ~ /^ (private|protected|public):/) is_private = $0 ~ /private/
  if (depth == 0) is_private = 0
  if (!is_private) code = code (code == "" ? "" : "\n") $0
}

END {
  end_entry()
  page = folder "/api.html"
  printf "<h1>API</h1>\n<p>The public headers of the libraries, from the comments in them. How to build with them: " \
         "<a href=\"library.html\">using the libraries</a>.</p>\n" > page
  for (i = 1; i <= number_of_headers; ++i) {
    header = substr(about[i], 1, index(about[i], "\n") - 1)
    library = substr(header, 1, index(header, "/") - 1)
    if (library != last) printf "%s<h2>%s</h2>\n<dl>\n", last == "" ? "" : "</dl>\n", library > page
    last = library
    id = tolower(header)
    gsub(/[^a-z0-9_-]/, "", id)
    text = substr(about[i], length(header) + 2)
    gsub(/\n/, " ", text)
    if (match(text, /[.] [A-Z]|[.] *$|:  /)) text = substr(text, 1, RSTART)
    printf "<dt><a href=\"api-%s.html#%s\">%s</a></dt>\n<dd>%s</dd>\n", library, id, header, marked(text) > page
  }
  printf "</dl>\n<h2>Names</h2>\n<nav class=\"contents\" aria-label=\"names\">\n" > page
  close(page)
  sort = "LC_ALL=C sort -f -t'>' -k2 >> " page
  for (i = 1; i <= number_of_names; ++i) printf "<a href=\"%s\">%s</a>\n", place[names[i]], names[i] | sort
  close(sort)
  print "</nav>" >> page
}
