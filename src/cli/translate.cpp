// einflow translate: from any notation that is read into any that is written.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/message.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "report/json.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  std::string to;
  std::string output;
  bool force = false;
  bool list = false;
  bool json = false;
};

int fail_with(const Diagnostics& errors) {
  print_errors(errors, SourceText{"<command line>", {}});
  return kBadInput;
}

int list_forms(bool json) {
  if (json) {
    Json list = Json::array();
    for (const Form& form : forms()) {
      Json entry = Json::object();
      entry.set("form", std::string(form.name)).set("read", form.read != nullptr).set("written", form.write != nullptr);
      list.push(entry.set("is", std::string(form.summary)).set("endings", std::string(form.endings)));
    }
    Json document = Json::object();
    print(document.set("format", "einflow-forms-1").set("forms", std::move(list)).str());
    return kDone;
  }
  Table table({"form", "read", "written", "what it is"}, 4);
  for (const Form& form : forms()) {
    table.add({std::string(form.name), form.read != nullptr ? "yes" : "", form.write != nullptr ? "yes" : "",
               std::string(form.summary)});
  }
  print(table.str(output_style()));
  return kDone;
}

/// A spec's own conventions say how a report takes what it leaves open; a translation leaves that open too.
Document without_silence(Document document) {
  document.conventions.clear();
  return document;
}

/// The document to write: what the texts say, or the spec that the arguments of `analyze` describe.
std::optional<Document> document_to_write(const SpecArguments& arguments) {
  if (!arguments.mapping_file.empty() || !arguments.problem.empty() || is_short_form(arguments)) {
    if (arguments.mapping_file.empty()) {  // the problem is enough for many notations
      std::optional<LoadedProblem> problem = load_problem(arguments);
      if (!problem) return std::nullopt;
      DocumentLayer layer;
      layer.name = layer.cascade.name = problem->einsum.name;
      layer.cascade.einsums.push_back(std::move(problem->einsum));
      layer.machine = std::move(problem->machine);
      Document document;
      document.layers.push_back(std::move(layer));
      return document;
    }
    const std::optional<LoadedSpec> loaded = load_spec(arguments);
    if (!loaded) return std::nullopt;
    return without_silence(document_of(loaded->read));
  }
  std::optional<LoadedDocument> loaded = load_document(arguments);
  if (!loaded) return std::nullopt;
  Document document = std::move(loaded->document);
  if (loaded->form->name == "einflow") document = without_silence(std::move(document));
  if (!arguments.layer.empty()) {
    const auto [name, part] = layer_and_part(document, arguments.layer);
    const auto layer = choose_layer(document, name);
    if (!layer) {
      print_errors(layer.error(), {loaded->sources.front().name, {}});
      return std::nullopt;
    }
    DocumentLayer chosen = **layer;
    if (!part.empty()) {
      std::vector<std::string> parts;
      for (const Einsum& einsum : chosen.cascade.einsums) parts.push_back(einsum.name);
      std::erase_if(chosen.cascade.einsums, [&wanted = part](const Einsum& einsum) { return einsum.name != wanted; });
      if (chosen.cascade.einsums.empty()) {
        print_errors(
            {{{}, fmt::format("the layer has no part {}", in_quotes(part)), name_hint(part, parts, "parts"), {}}},
            {loaded->sources.front().name, {}});
        return std::nullopt;
      }
      chosen.name = part;
      chosen.parameters.reset();  // of the whole layer
    }
    document.layers = {std::move(chosen)};
  }
  return document;
}

/// Writes a file; one that is there is only replaced where --force asks for it.
int write_file(const std::string& path, const std::string& text, bool force) {
  std::FILE* file = std::fopen(path.c_str(), force ? "wb" : "wbx");
  if (file == nullptr) {
    const bool exists = errno == EEXIST;
    return fail_with({{{},
                       exists ? fmt::format("{} is there already", in_quotes(path))
                              : fmt::format("cannot write {}: {}", in_quotes(path), std::strerror(errno)),
                       exists ? "--force replaces it" : "",
                       {}}});
  }
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !written) {
    print_errors({{{}, fmt::format("{} did not take all of the text", in_quotes(path)), "is the disk full?", {}}},
                 SourceText{"<command line>", {}});
    return kInternalError;
  }
  return kDone;
}

int run(const Arguments& arguments) {
  if (arguments.list) return list_forms(arguments.json);
  if (arguments.json) return fail_with({{{}, "--json goes with --list", "a translation is printed as it is", {}}});
  if (arguments.force && arguments.output.empty()) {
    return fail_with({{{}, "--force replaces the file of -o, and there is none", "-o FILE", {}}});
  }
  if (arguments.to.empty()) {
    return fail_with({{{}, "--to is missing: the notation to write", "`einflow translate --list` lists them", {}}});
  }
  const auto form = form_named(arguments.to);
  if (!form) return fail_with(form.error());
  if ((*form)->write == nullptr) {
    return fail_with({{{}, fmt::format("the form {} is only read, not written", in_quotes(arguments.to)), {}, {}}});
  }
  const std::optional<Document> document = document_to_write(arguments.spec);
  if (!document) return kBadInput;
  const auto writing = (*form)->write(*document);
  if (!writing) return fail_with(writing.error());
  for (const std::string& text : document->conventions) print_message("note: " + text);
  for (const std::string& text : writing->conventions) print_message("note: " + text);
  for (const std::string& text : document->left_out) print_message("not read: " + text);
  for (const Uncounted& operation : document->uncounted) {
    print_message(fmt::format("not counted: {} x {} {}: {}", operation.repeat, operation.operation, operation.name,
                              operation.because));
  }
  for (const std::string& text : writing->left_out) print_message("not written: " + text);
  if (!arguments.output.empty() && arguments.output != "-")
    return write_file(arguments.output, writing->text, arguments.force);
  print(writing->text);
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_spec_arguments(command, arguments->spec);
  command.text("--to", arguments->to, "FORM", "Notation to write");
  command.text("-o,--output", arguments->output, "FILE",
               "Write to a file that is not there yet; - for standard output");
  command.flag("--force", arguments->force, "Replace the file");
  command.flag("--list", arguments->list, "The notations that are read and written");
  command.flag("--json", arguments->json, "With --list: one JSON document");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command translate_command() {
  return {"translate", "A problem and its mapping in another notation",
          "Examples:\n"
          "  einflow translate --list\n"
          "  einflow translate matmul.yaml --to loops\n"
          "  einflow translate arch.yaml prob.yaml map.yaml --to einflow -o spec.yaml\n"
          "What a notation cannot say is an error, or is told on standard error.",
          declare};
}

}  // namespace einflow
