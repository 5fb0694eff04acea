// The module that outline.wasm.gz holds, beside tree-sitter's own library and the
// grammars: parse a text, run a query over its tree, and hand back the captures.
//
// The caller allocates what it passes and releases it. One text is handled at a time.

#include <stdint.h>
#include <stdlib.h>
#include <tree_sitter/api.h>

#define EXPORT(name) __attribute__((export_name(name)))

extern const TSLanguage *tree_sitter_python(void);
extern const TSLanguage *tree_sitter_javascript(void);
extern const TSLanguage *tree_sitter_typescript(void);
extern const TSLanguage *tree_sitter_tsx(void);
extern const TSLanguage *tree_sitter_java(void);
extern const TSLanguage *tree_sitter_rust(void);
extern const TSLanguage *tree_sitter_c(void);
extern const TSLanguage *tree_sitter_cpp(void);
extern const TSLanguage *tree_sitter_ruby(void);
extern const TSLanguage *tree_sitter_php(void);

static const TSLanguage *language(uint32_t number) {
  switch (number) {
  case 0: return tree_sitter_python();
  case 1: return tree_sitter_javascript();
  case 2: return tree_sitter_typescript();
  case 3: return tree_sitter_tsx();
  case 4: return tree_sitter_java();
  case 5: return tree_sitter_rust();
  case 6: return tree_sitter_c();
  case 7: return tree_sitter_cpp();
  case 8: return tree_sitter_ruby();
  case 9: return tree_sitter_php();
  }
  return NULL;
}

EXPORT("allocate") void *allocate(uint32_t size) { return malloc(size ? size : 1); }
EXPORT("release") void release(void *p) { free(p); }

// compile returns a query, or 0 when the text is not one for the language.
EXPORT("compile") TSQuery *compile(uint32_t number, const char *text, uint32_t size) {
  const TSLanguage *lang = language(number);
  uint32_t at;
  TSQueryError error;
  return lang ? ts_query_new(lang, text, size, &at, &error) : NULL;
}

// Each capture is five numbers: match, capture, first byte, byte after the last, row.
enum { FIELDS = 5 };

static uint32_t *captures;
static uint32_t used, room, matches;

static int push(uint32_t match, const TSQueryCapture *c) {
  if (used + FIELDS > room) {
    uint32_t more = room ? room * 2 : 4096;
    uint32_t *grown = realloc(captures, more * sizeof *captures);
    if (!grown) return 0;
    captures = grown;
    room = more;
  }
  captures[used++] = match;
  captures[used++] = c->index;
  captures[used++] = ts_node_start_byte(c->node);
  captures[used++] = ts_node_end_byte(c->node);
  captures[used++] = ts_node_start_point(c->node).row;
  return 1;
}

// run parses text and returns how many captures the query has in it, -1 on failure.
EXPORT("run") int32_t run(uint32_t number, const TSQuery *query, const char *text, uint32_t size) {
  const TSLanguage *lang = language(number);
  TSParser *parser = ts_parser_new();
  if (!lang || !parser || !ts_parser_set_language(parser, lang)) return -1;
  TSTree *tree = ts_parser_parse_string(parser, NULL, text, size);
  ts_parser_delete(parser);
  if (!tree) return -1;
  TSQueryCursor *cursor = ts_query_cursor_new();
  ts_query_cursor_exec(cursor, query, ts_tree_root_node(tree));
  TSQueryMatch match;
  int ok = 1;
  used = matches = 0;
  while (ok && ts_query_cursor_next_match(cursor, &match)) {
    for (uint16_t i = 0; ok && i < match.capture_count; i++) ok = push(matches, &match.captures[i]);
    matches++;
  }
  ts_query_cursor_delete(cursor);
  ts_tree_delete(tree);
  return ok ? (int32_t)(used / FIELDS) : -1;
}

// result returns the captures of the last run.
EXPORT("result") const uint32_t *result(void) { return captures; }
