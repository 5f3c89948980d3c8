/* SPDX-License-Identifier: Apache-2.0
 *
 * What the schema of a property becomes: each row is one, and a line of the module. */
#include "apigen/apigen.h"

#include <stdio.h>
#include <string.h>

#include "acutest.h"
#include "base/alloc.h"
#include "fakes/python_check.h"

static const char defs[] =
    "{\"Node\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/Node\"}}},"
    "\"Color\":{\"enum\":[\"red\",\"green\"]},\"Name\":{\"type\":\"string\",\"minLength\":1},"
    "\"P\":{\"$anchor\":\"here\","
    "\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}}},"
    "\"a/b c\":{\"type\":\"object\",\"properties\":{\"y\":{}}},"
    "\"Loop\":{\"$ref\":\"#/$defs/Loop\"},\"V\":{\"v\":{}},\"L\":[{\"type\":\"integer\"}]}";

static char *generate(const char *schema)
{
    struct err e = ERR_NONE;
    struct apigen_package p;
    drop_json struct json *j = json_parse_copy(schema, strlen(schema), JSON_STRICT, &e);
    TEST_ASSERT_(j != NULL, "%s: %s", schema, e.msg);
    const struct apigen_tool tool = {.name = "t", .input = j};
    TEST_ASSERT(apigen_package("s", &tool, 1, &p, &e) == 0);
    char *text = p.files[1].text;
    p.files[1].text = NULL;
    apigen_package_done(&p);
    const char *wrong = python_check(text);
    TEST_CHECK_(!wrong, "%s: %s\n%s", schema, wrong ? wrong : "", text);
    return text;
}

struct row {
    const char *schema, *line;
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        drop_str char *schema =
            xasprintf("{\"type\":\"object\",\"properties\":{\"value\":%s},\"required\":[\"value\"],"
                      "\"$defs\":%s}",
                      rows[i].schema, defs);
        drop_str char *text = generate(schema);
        drop_str char *line = xasprintf("\n    %s\n", rows[i].line);
        TEST_CHECK_(strstr(text, line) != NULL, "%s: %s", rows[i].schema, rows[i].line);
        TEST_MSG("found %s", text);
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof *(rows))

static void scalars_have_their_types_and_bounds(void)
{
    static const struct row rows[] = {
        {"{\"type\":\"string\"}", "value: str"},
        {"{\"type\":\"string\",\"minLength\":2,\"maxLength\":5,\"pattern\":\"^a\"}",
         "value: Annotated[str, Field(min_length=2, max_length=5, pattern=\"^a\")]"},
        {"{\"type\":\"string\",\"pattern\":\"[\"}", "value: str"},
        {"{\"type\":\"integer\",\"minimum\":1,\"maximum\":9}",
         "value: Annotated[int, Field(ge=1, le=9)]"},
        {"{\"type\":\"integer\",\"minimum\":0.5}", "value: Annotated[int, Field(ge=1)]"},
        {"{\"type\":\"integer\",\"minimum\":1,\"exclusiveMinimum\":true}",
         "value: Annotated[int, Field(gt=1)]"},
        {"{\"type\":\"integer\",\"maximum\":9223372036854775807}",
         "value: Annotated[int, Field(le=9223372036854775807)]"},
        {"{\"type\":\"number\",\"exclusiveMinimum\":0,\"multipleOf\":0.5}",
         "value: Annotated[float, Field(gt=0, multiple_of=0.5)]"},
        {"{\"type\":\"boolean\"}", "value: bool"},
        {"{\"type\":\"null\"}", "value: None"},
        {"{}", "value: Any"},
        {"true", "value: Any"},
        {"{\"type\":\"any\"}", "value: Any"},
        {"{\"type\":[\"string\",\"integer\"]}", "value: str | int"},
        {"{\"type\":[\"string\",\"null\"]}", "value: str | None"},
        {"{\"type\":\"string\",\"nullable\":true}", "value: str | None"},
        {"{\"type\":\"string\",\"minLength\":-1,\"maxLength\":1e300}", "value: str"},
    };
    CHECK(rows);
}

static void formats_have_their_classes(void)
{
    static const struct row rows[] = {
        {"{\"type\":\"string\",\"format\":\"date-time\"}", "value: AwareDatetime"},
        {"{\"type\":\"string\",\"format\":\"date\"}", "value: _date"},
        {"{\"type\":\"string\",\"format\":\"uri\"}", "value: AnyUrl"},
        {"{\"type\":\"string\",\"format\":\"uuid\"}", "value: _UUID"},
        {"{\"type\":\"string\",\"format\":\"email\"}", "value: str"},
        {"{\"type\":\"string\",\"format\":\"password\"}", "value: str"},
        {"{\"type\":\"string\",\"format\":\"binary\",\"minLength\":3}",
         "value: Annotated[bytes, Field(min_length=3)]"},
        {"{\"type\":\"number\",\"format\":\"decimal\"}", "value: float"},
    };
    CHECK(rows);
}

static void arrays_and_mappings_have_their_parts(void)
{
    static const struct row rows[] = {
        {"{\"type\":\"array\"}", "value: list[Any]"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":1}",
         "value: Annotated[list[str], Field(min_length=1)]"},
        {"{\"type\":\"array\",\"items\":false}",
         "value: Annotated[list[Any], Field(max_length=0)]"},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"integer\"},{\"type\":\"string\"}],"
         "\"minItems\":2,\"maxItems\":2}",
         "value: tuple[int, str]"},
        {"{\"type\":\"array\",\"items\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}",
         "value: list[int | str]"},
        {"{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"items\":false}",
         "value: Annotated[list[None], Field(max_length=1)]"},
        {"{\"type\":\"object\"}", "value: dict[str, Any]"},
        {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}",
         "value: dict[str, int]"},
        {"{\"type\":\"object\",\"additionalProperties\":false}",
         "value: Annotated[dict[str, Any], Field(max_length=0)]"},
        {"{\"type\":\"object\",\"patternProperties\":{\"^a\":{\"type\":\"integer\"}}}",
         "value: dict[Annotated[str, Field(pattern=\"^a\")], int]"},
        {"{\"type\":\"object\",\"propertyNames\":{\"enum\":[\"a\",\"b\"]}}",
         "value: dict[Literal[\"a\", \"b\"], Any]"},
        {"{\"type\":\"object\",\"propertyNames\":{\"maxLength\":3}}",
         "value: dict[Annotated[str, Field(max_length=3)], Any]"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"boolean\"}}}",
         "value: list[list[bool]]"},
    };
    CHECK(rows);
}

static void objects_are_classes(void)
{
    static const struct row rows[] = {
        {"{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}}}", "value: Value"},
        {"{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}}}",
         "x: int | None = None"},
        {"{\"properties\":{\"x\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
         "__pydantic_extra__: dict[str, str]"},
        {"{\"allOf\":[{\"properties\":{\"x\":{\"type\":\"integer\"}},\"required\":[\"x\"]},"
         "{\"properties\":{\"y\":{\"type\":\"string\"},\"x\":{\"minimum\":1}}}]}",
         "x: Annotated[int, Field(ge=1)]"},
        {"{\"type\":\"array\",\"items\":{\"properties\":{\"x\":{}}}}", "value: list[ValueItem]"},
        {"{\"anyOf\":[{\"properties\":{\"x\":{}}},{\"properties\":{\"y\":{}}}]}",
         "value: Value | Value1"},
    };
    CHECK(rows);
}

static void choices_are_unions(void)
{
    static const struct row rows[] = {
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "value: str | int"},
        {"{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}", "value: str | None"},
        {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"string\"}]}", "value: str"},
        {"{\"anyOf\":[{\"const\":\"a\"},{\"type\":\"integer\"}]}", "value: Literal[\"a\"] | int"},
        {"{\"type\":\"integer\",\"anyOf\":[{\"minimum\":5},{\"maximum\":1}]}",
         "value: Annotated[int, Field(ge=5)] | Annotated[int, Field(le=1)]"},
        {"{\"anyOf\":[{\"type\":[\"string\",\"null\"]},{\"type\":[\"integer\",\"null\"]}]}",
         "value: str | int | None"},
        {"{\"const\":\"a\"}", "value: Literal[\"a\"]"},
        {"{\"const\":1.5}", "value: float"},
        {"{\"const\":null}", "value: None"},
        {"{\"const\":[1,2]}", "value: list[int]"},
        {"{\"const\":{\"a\":\"b\"}}", "value: dict[str, str]"},
        {"{\"anyOf\":[]}", "value: Any"},
    };
    CHECK(rows);
}

static void enumerations_have_named_members(void)
{
    static const struct row rows[] = {
        {"{\"type\":\"string\",\"enum\":[\"asc\",\"help-wanted\"]}",
         "help_wanted = \"help-wanted\""},
        {"{\"enum\":[\"a-b\",\"a_b\"]}", "a_b_1 = \"a_b\""},
        {"{\"enum\":[\"a\",\"a\"]}", "a_1 = \"a\""},
        {"{\"enum\":[\"class\",\"mro\",\"\",\"2\"]}", "class_ = \"class\""},
        {"{\"enum\":[\"class\",\"mro\",\"\",\"2\"]}", "mro_ = \"mro\""},
        {"{\"enum\":[\"class\",\"mro\",\"\",\"2\"]}", "field_2 = \"2\""},
        {"{\"enum\":[\"_value_\",\"__init__\"]}", "field_value_ = \"_value_\""},
        {"{\"type\":\"integer\",\"enum\":[1,-2]}", "integer__2 = -2"},
        {"{\"type\":\"number\",\"enum\":[0.5]}", "number_0_5 = 0.5"},
        {"{\"enum\":[1,true,null]}", "int_1 = 1"},
        {"{\"enum\":[1,true,null]}", "bool_True = True"},
        {"{\"enum\":[1,true,null]}", "NoneType_None = None"},
        {"{\"enum\":[[1],{\"a\":1}]}", "list__1_ = [1]"},
        {"{\"enum\":[[1],{\"a\":1}]}", "value_1 = {\"a\": 1}"},
        {"{\"oneOf\":[{\"const\":\"a\",\"title\":\"First one\"},{\"const\":\"b\"}]}",
         "First_one = \"a\""},
        {"{\"type\":\"integer\",\"enum\":[1,2],\"x-enum-varnames\":[\"ONE\"]}", "ONE = 1"},
        {"{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",null]}", "value: Value | None"},
        {"{\"type\":\"array\",\"items\":{\"enum\":[\"a\"]}}", "value: list[ValueEnum]"},
        {"{\"enum\":[\"\\\"\\\"\\\"\\nimport os\"]}",
         "field____import_os = \"\\\"\\\"\\\"\\nimport os\""},
    };
    CHECK(rows);
}

static void references_lead_to_one_class(void)
{
    static const struct row rows[] = {
        {"{\"$ref\":\"#/$defs/Node\"}", "next: Node | None = None"},
        {"{\"$ref\":\"#/$defs/Color\"}", "value: Color"},
        {"{\"$ref\":\"#/$defs/Name\"}", "value: Name"},
        {"{\"$ref\":\"#here\"}", "value: P"},
        {"{\"$ref\":\"#/$defs/a~1b%20c\"}", "value: ABC"},
        {"{\"$ref\":\"#/$defs/L/0\"}", "value: Field0"},
        {"{\"$ref\":\"#\"}", "value: Params"},
        {"{\"$ref\":\"#/$defs/Nowhere\"}", "value: Any"},
        {"{\"$ref\":\"http://127.0.0.1:1/x\"}", "value: Any"},
        {"{\"$ref\":\"#/$defs/L/7\"}", "value: Any"},
        {"{\"$ref\":\"#/$defs/Node\",\"description\":\"d\"}", "value: Node"},
        {"{\"allOf\":[{\"$ref\":\"#/$defs/Node\"}]}", "value: Node"},
        {"{\"anyOf\":[{\"$ref\":\"#/$defs/Node\"},{\"type\":\"null\"}]}", "value: Node | None"},
        {"{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/Node\"}}", "value: list[Node]"},
        {"{\"$ref\":\"#/$defs/Loop\"}", "root: Loop"},
    };
    CHECK(rows);
}

/* --- whole classes --------------------------------------------------------------------------- */

static void expect_lines(const char *schema, const char *const *lines)
{
    drop_str char *text = generate(schema);
    for (; *lines; lines++) {
        drop_str char *line = xasprintf("\n%s\n", *lines);
        TEST_CHECK_(strstr(text, line) != NULL, "%s", *lines);
        TEST_MSG("found %s", text);
    }
}

static void defaults_are_written_for_the_type(void)
{
    static const char schema[] =
        "{\"properties\":{\"a\":{\"type\":\"string\",\"default\":\"x\\\"\"},"
        "\"b\":{\"type\":\"integer\",\"default\":3},\"c\":{\"type\":\"array\",\"default\":[]},"
        "\"d\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"default\":[\"x\"]},"
        "\"e\":{\"enum\":[\"p\",\"q\"],\"default\":\"q\"},"
        "\"f\":{\"type\":\"integer\",\"default\":\"x\"},"
        "\"g\":{\"type\":\"boolean\",\"default\":null},\"h\":{\"type\":\"object\",\"default\":{}},"
        "\"i\":{\"properties\":{\"x\":{}},\"default\":{\"x\":1}},"
        "\"j\":{\"const\":\"k\",\"default\":\"k\"},"
        "\"k\":{\"type\":\"string\",\"default\":\"x\"},"
        "\"l\":{\"type\":\"integer\",\"default\":1e30}},"
        "\"required\":[\"k\"]}";
    static const char *const lines[] = {
        "    a: str | None = \"x\\\"\"",
        "    b: int | None = 3",
        "    c: list[Any] | None = Field(default_factory=list)",
        "    d: list[str] | None = Field(default_factory=lambda: [\"x\"])",
        "    e: Annotated[E | None, Field(validate_default=True)] = E.q",
        "    f: int | None = cast(Any, \"x\")",
        "    g: bool | None = None",
        "    h: dict[str, Any] | None = Field(default_factory=dict)",
        "    i: I | None = Field({\"x\": 1}, validate_default=True)",
        "    j: Literal[\"k\"] = \"k\"",
        "    k: str",
        "    l: int | None = cast(Any, 1e+30)",
        NULL};
    expect_lines(schema, lines);
}

static void names_that_mean_something_else_are_changed(void)
{
    static const char schema[] =
        "{\"properties\":{\"class\":{\"type\":\"integer\"},\"model_dump\":{\"type\":\"integer\"},"
        "\"int\":{\"type\":\"integer\"},\"str\":{\"type\":\"integer\"},"
        "\"Field\":{\"type\":\"integer\"},"
        "\"Any\":{},\"_x\":{\"type\":\"integer\"},\"params\":{\"properties\":{\"y\":{}}},"
        "\"base_model\":{\"enum\":[\"a\"]},\"none\":{\"enum\":[\"a\"]}}}";
    static const char *const lines[] = {
        "    class_: Annotated[int | None, Field(alias=\"class\")] = None",
        "    model_dump_: Annotated[int | None, Field(alias=\"model_dump\")] = None",
        "    int_: Annotated[int | None, Field(alias=\"int\")] = None",
        "    str: int | None = None",
        "    Field_1: Annotated[int | None, Field(alias=\"Field\")] = None",
        "    Any_1: Annotated[Any | None, Field(alias=\"Any\")] = None",
        "    field_x: Annotated[int | None, Field(alias=\"_x\")] = None",
        "    params: Params1 | None = None",
        "    base_model: BaseModelModel | None = None",
        "class None1(Enum):",
        "class Params(BaseModel, use_enum_values=True, populate_by_name=True, "
        "protected_namespaces=()):",
        NULL};
    expect_lines(schema, lines);
}

static void what_else_is_allowed_is_a_keyword_of_the_class(void)
{
    static const char *const closed[] = {"class Params(BaseModel, extra=\"forbid\"):", NULL};
    static const char *const open[] = {"class Params(BaseModel, extra=\"allow\"):", NULL};
    static const char *const enums[] = {"class Params(BaseModel, use_enum_values=True):", NULL};
    expect_lines("{\"properties\":{\"x\":{}},\"additionalProperties\":false}", closed);
    expect_lines("{\"properties\":{\"x\":{}},\"additionalProperties\":true}", open);
    expect_lines("{\"properties\":{\"x\":{\"type\":\"array\",\"items\":{\"enum\":[\"a\"]}}}}",
                 enums);
}

/* Else the value of one property would be read as that of another. */
static void a_name_in_python_is_not_taken_for_another_property(void)
{
    static const char schema[] = "{\"properties\":{\"a-b\":{\"type\":\"integer\"},"
                                 "\"a_b\":{\"type\":\"integer\"}}}";
    static const char *const lines[] = {
        "class Params(BaseModel):", "    a_b: Annotated[int | None, Field(alias=\"a-b\")] = None",
        "    a_b_1: Annotated[int | None, Field(alias=\"a_b\")] = None", NULL};
    expect_lines(schema, lines);
}

static void one_class_has_one_engine_for_its_patterns(void)
{
    static const char schema[] =
        "{\"properties\":{\"a\":{\"type\":\"string\",\"pattern\":\"^(?!x)\"},"
        "\"b\":{\"type\":\"string\",\"pattern\":\"^\\\\p{L}$\"},"
        "\"c\":{\"properties\":{\"d\":{\"type\":\"string\",\"pattern\":\"\\\\p{L}\"}}}}}";
    static const char *const lines[] = {
        "class Params(BaseModel, regex_engine=\"python-re\"):",
        "    a: Annotated[str, Field(pattern=\"^(?!x)\")] | None = None",
        "    b: str | None = None",
        "    d: Annotated[str, Field(pattern=\"\\\\p{L}\")] | None = None", NULL};
    expect_lines(schema, lines);
}

static void a_root_that_is_no_object_is_a_root_model(void)
{
    static const struct row rows[] = {
        {"{}", "    root: Any"},
        {"true", "    root: Any"},
        {"{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "    root: list[str]"},
        {"{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}",
         "    root: dict[str, int]"},
        {"{\"type\":[\"object\",\"null\"],\"properties\":{\"a\":{}}}", "class Params(BaseModel):"},
        {"{\"type\":\"object\"}", "class Params(BaseModel):"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof *rows; i++)
        expect_lines(rows[i].schema, (const char *const[]){rows[i].line, NULL});
}

TEST_LIST = {
    {"what else is allowed is a keyword of the class",
     what_else_is_allowed_is_a_keyword_of_the_class},
    {"scalars have their types and bounds", scalars_have_their_types_and_bounds},
    {"formats have their classes", formats_have_their_classes},
    {"arrays and mappings have their parts", arrays_and_mappings_have_their_parts},
    {"objects are classes", objects_are_classes},
    {"choices are unions", choices_are_unions},
    {"enumerations have named members", enumerations_have_named_members},
    {"references lead to one class", references_lead_to_one_class},
    {"defaults are written for the type", defaults_are_written_for_the_type},
    {"names that mean something else are changed", names_that_mean_something_else_are_changed},
    {"a name in Python is not taken for another property",
     a_name_in_python_is_not_taken_for_another_property},
    {"one class has one engine for its patterns", one_class_has_one_engine_for_its_patterns},
    {"a root that is no object is a root model", a_root_that_is_no_object_is_a_root_model},
    {NULL, NULL},
};
