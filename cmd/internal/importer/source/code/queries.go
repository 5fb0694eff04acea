package code

import (
	"path"
	"slices"
	"strings"
)

// grammar says how the units of a language are found. The captures of a query:
//
//	function, method, class, …   a unit, and its type
//	scope                        what gives its name to the units in it, but is none: a namespace
//	constant                     a unit without a body; neighbours become one
//	file                         the documentation of a file, without a name
//	head                         what ends the signature; without one the body does
//	name, body, doc              of the unit or scope of the same match
//	outer                        what is around a unit and belongs to it: decorators, export
//	after                        what may follow a constant and belongs to it: its docstring
//	comment, attribute           what may be between a unit and what is before it
type grammar struct {
	name       string
	extensions string // of files
	joint      string // between the parts of a qualified name
	language   language
	query      string // "" for Go, which go/parser reads
}

// grammars are the languages that can be read.
var grammars = []grammar{
	{name: "go", extensions: ".go"},
	{"python", ".py .pyi", ".", python, pythonQuery},
	{"javascript", ".js .jsx .mjs .cjs", ".", javaScript, jsQuery + jsClass},
	{"typescript", ".ts .mts .cts", ".", typeScript, jsQuery + tsQuery},
	{"tsx", ".tsx", ".", tsx, jsQuery + tsQuery},
	{"java", ".java", ".", java, javaQuery},
	{"rust", ".rs", "::", rust, rustQuery},
	{"c", ".c .h", ".", cLanguage, cQuery},
	{"cpp", ".cc .cpp .cxx .hh .hpp .hxx", "::", cpp, cQuery + cppQuery},
	{"ruby", ".rb", ".", ruby, rubyQuery},
	{"php", ".php", ".", php, phpQuery},
}

// grammarOf returns the grammar for the file called name, nil for a file of another kind.
func grammarOf(name string) *grammar {
	extension := strings.ToLower(path.Ext(name))
	i := slices.IndexFunc(grammars, func(g grammar) bool { return slices.Contains(strings.Fields(g.extensions), extension) })
	if i < 0 {
		return nil
	}
	return &grammars[i]
}

const pythonQuery = `
(function_definition name: (_) @name parameters: (_) @head return_type: (_)? @head body: (block . (expression_statement (string) @doc)?) @body) @function
(class_definition name: (_) @name superclasses: (_)? @head body: (block . (expression_statement (string) @doc)?) @body) @class
(decorated_definition) @outer
(module (expression_statement (assignment left: (identifier) @name)) @constant)
(module (expression_statement (assignment left: (pattern_list . (identifier) @name))) @constant)
(module (type_alias_statement left: (type (identifier) @name)) @type)
(module (expression_statement (string)) @after)
(module (expression_statement (string) @doc) @file)
(comment) @comment
`

const jsQuery = `
(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(method_definition name: (_) @name body: (_) @body) @method
(lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @function
(variable_declaration (variable_declarator name: (identifier) @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @function
(expression_statement (assignment_expression left: (member_expression) @name right: [(arrow_function body: (_) @body) (function_expression body: (_) @body)])) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @constant)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @constant)
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name)) @constant))
(program (export_statement declaration: (variable_declaration (variable_declarator name: (identifier) @name)) @constant))
(program (export_statement "default" @name value: [(object) (array) (call_expression)]) @constant)
(program (export_statement "default" @name value: [(arrow_function body: (_) @body) (function_expression body: (_) @body)]) @function)
(program (expression_statement (assignment_expression left: (member_expression) @name right: [(object) (array) (call_expression)])) @constant)
(export_statement) @outer
(comment) @comment
`

const jsClass = `
(class_declaration name: (_) @name body: (_) @body) @class
`

const tsQuery = `
(class_declaration name: (_) @name body: (_) @body) @class
(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(enum_declaration name: (_) @name body: (_) @body) @enum
(type_alias_declaration name: (_) @name) @type
(function_signature name: (_) @name) @function
(abstract_method_signature name: (_) @name) @method
(internal_module body: (statement_block (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name)) @constant)))
(program (ambient_declaration (lexical_declaration (variable_declarator name: (identifier) @name)) @constant))
(ambient_declaration) @outer
(class_body (decorator) @attribute)
(internal_module name: (_) @name body: (_) @body) @scope
(module name: (_) @name body: (_) @body) @scope
`

const javaQuery = `
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(enum_declaration name: (_) @name body: (_) @body) @enum
(record_declaration name: (_) @name body: (_) @body) @class
(annotation_type_declaration name: (_) @name body: (_) @body) @interface
(method_declaration name: (_) @name body: (_)? @body) @method
(constructor_declaration name: (_) @name body: (_) @body) @method
(compact_constructor_declaration name: (_) @name body: (_) @body) @method
(field_declaration declarator: (variable_declarator name: (_) @name value: (object_creation_expression (class_body)))) @scope
(enum_constant name: (_) @name body: (_)) @scope
(program (package_declaration) @file)
(line_comment) @comment
(block_comment) @comment
`

const rustQuery = `
(function_item name: (_) @name body: (_) @body) @function
(function_signature_item name: (_) @name) @function
(struct_item name: (_) @name body: (_)? @body) @struct
(union_item name: (_) @name body: (_) @body) @struct
(enum_item name: (_) @name body: (_) @body) @enum
(trait_item name: (_) @name body: (_) @body) @trait
(type_item name: (_) @name) @type
(macro_definition name: (_) @name) @macro
(const_item name: (_) @name) @constant
(static_item name: (_) @name) @constant
(impl_item type: (_) @name body: (_) @body) @scope
(mod_item name: (_) @name body: (_) @body) @scope
(attribute_item) @attribute
(line_comment) @comment
(block_comment) @comment
`

const cQuery = `
(function_definition declarator: (function_declarator declarator: (_) @name) body: (_) @body) @function
(function_definition declarator: (pointer_declarator (function_declarator declarator: (_) @name)) body: (_) @body) @function
(function_definition declarator: (pointer_declarator (pointer_declarator (function_declarator declarator: (_) @name))) body: (_) @body) @function
(struct_specifier name: (_) @name body: (_) @body) @struct
(union_specifier name: (_) @name body: (_) @body) @struct
(enum_specifier name: (_) @name body: (_) @body) @enum
(type_definition declarator: (type_identifier) @name) @type
(comment) @comment
`

const cppQuery = `
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name)) body: (_) @body) @function
(class_specifier name: (_) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @scope
(template_declaration) @outer
`

const rubyQuery = `
(method name: (_) @name body: (_)? @body) @method
(singleton_method name: (_) @name body: (_)? @body) @method
(class name: (_) @name body: (_)? @body) @class
(module name: (_) @name body: (_)? @body) @module
(comment) @comment
`

const phpQuery = `
(function_definition name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @name body: (_)? @body) @method
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @interface
(trait_declaration name: (_) @name body: (_) @body) @trait
(enum_declaration name: (_) @name body: (_) @body) @enum
(comment) @comment
`
