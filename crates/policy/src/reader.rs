//! From the tree of values to typed tables, and from the same types to the JSON Schema.
//!
//! The types under `syntax` are the only list of keys: the macros here make the reader and the schema of a table from
//! one declaration, so that the two cannot disagree. Every mistake is collected; reading goes on after it.

use crate::diagnostic::{Diagnostic, Place};
use crate::document::{Node, Value};
use crate::quantity::{Dimension, Quantity, parse_quantity};
use serde_json::{Map, json};

/// Definitions of a schema, by name.
pub(crate) type Definitions = Map<String, serde_json::Value>;

/// What can be read from a value.
pub(crate) trait Field: Sized {
    /// Reads it, or says why not.
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self>;
    /// Its JSON Schema; tables put theirs into `definitions`.
    fn schema(definitions: &mut Definitions) -> serde_json::Value;
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

impl<T> At<T> {
    pub(crate) fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        self.place.error(code, message)
    }
}

impl<T: Field> Field for At<T> {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        T::read(node, findings).map(|value| Self {
            value,
            place: node.place.clone(),
        })
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        T::schema(definitions)
    }
}

/// The finding for a value of the wrong kind.
pub(crate) fn wrong_kind(node: &Node, expected: impl Into<String>) -> Diagnostic {
    node.place
        .error("type", format!("{} is not expected here", node.value.kind()))
        .expecting(expected)
}

/// One value, or an array of them.
#[derive(Clone, Debug)]
pub(crate) struct OneOrMany<T>(pub(crate) Vec<At<T>>);

impl<T: Field> Field for OneOrMany<T> {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Array(_) => Many::read(node, findings).map(|many| Self(many.0)),
            _ => At::read(node, findings).map(|one| Self(vec![one])),
        }
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        let one = T::schema(definitions);
        json!({ "anyOf": [one.clone(), { "type": "array", "items": one }] })
    }
}

/// An array.
#[derive(Clone, Debug)]
pub(crate) struct Many<T>(pub(crate) Vec<At<T>>);

impl<T: Field> Field for Many<T> {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let Value::Array(items) = &node.value else {
            findings.push(wrong_kind(node, "an array"));
            return None;
        };
        Some(Self(
            items.iter().filter_map(|item| At::read(item, findings)).collect(),
        ))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "type": "array", "items": T::schema(definitions) })
    }
}

/// A table whose keys are names that the file chose.
#[derive(Clone, Debug)]
pub(crate) struct Named<T>(pub(crate) Vec<NamedEntry<T>>);

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct NamedEntry<T> {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) value: T,
}

impl<T: Field> Field for Named<T> {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let Value::Table(entries) = &node.value else {
            findings.push(wrong_kind(node, "a table of names"));
            return None;
        };
        let mut all = Vec::new();
        for entry in entries {
            if entry.key.is_empty() || entry.key.contains('/') || entry.key.chars().any(char::is_control) {
                findings.push(entry.key_place.error(
                    "name",
                    "a name is not empty and holds no `/` and no control characters",
                ));
                continue;
            }
            if let Some(value) = T::read(&entry.node, findings) {
                all.push(NamedEntry {
                    name: entry.key.clone(),
                    place: entry.key_place.clone(),
                    value,
                });
            }
        }
        Some(Self(all))
    }
    fn schema(definitions: &mut Definitions) -> serde_json::Value {
        json!({ "type": "object", "additionalProperties": T::schema(definitions) })
    }
}

impl Field for String {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Text(text) => Some(text.clone()),
            _ => {
                findings.push(wrong_kind(node, "a string in quotes"));
                None
            }
        }
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "string" })
    }
}

impl Field for bool {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        match &node.value {
            Value::Bool(b) => Some(*b),
            // An override without quotes gives a string for anything but true and false.
            _ => {
                findings.push(wrong_kind(node, "true or false"));
                None
            }
        }
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "boolean" })
    }
}

/// A whole number in a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole<const LEAST: i64, const MOST: i64>(pub(crate) i64);

impl<const LEAST: i64, const MOST: i64> Field for Whole<LEAST, MOST> {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let expected = format!("a whole number from {LEAST} to {MOST}");
        match &node.value {
            Value::Integer(n) if (LEAST..=MOST).contains(n) => Some(Self(*n)),
            Value::Integer(n) => {
                findings.push(
                    node.place
                        .error("range", format!("{n} is out of range"))
                        .expecting(expected),
                );
                None
            }
            _ => {
                findings.push(wrong_kind(node, expected));
                None
            }
        }
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "type": "integer", "minimum": LEAST, "maximum": MOST })
    }
}

/// A plain number, or a percentage of one: `0.97` or `"97%"`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fraction(pub(crate) f64);

impl Field for Fraction {
    fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let value = match &node.value {
            Value::Integer(n) => *n as f64,
            Value::Float(x) => *x,
            Value::Text(_) => read_quantity(node, &[Dimension::Percent], findings)?.value as f64 / 1e8,
            _ => {
                findings.push(wrong_kind(
                    node,
                    "a number such as 0.97, or a percentage such as \"97%\"",
                ));
                return None;
            }
        };
        if value < 0.0 {
            findings.push(
                node.place
                    .error("range", format!("{value} is negative"))
                    .expecting("at least 0"),
            );
            return None;
        }
        Some(Self(value))
    }
    fn schema(_: &mut Definitions) -> serde_json::Value {
        json!({ "anyOf": [{ "type": "number", "minimum": 0 }, quantity_schema(&[Dimension::Percent])] })
    }
}

/// Reads a quantity; a number without a unit is told so.
pub(crate) fn read_quantity(
    node: &Node,
    dimensions: &[Dimension],
    findings: &mut Vec<Diagnostic>,
) -> Option<Quantity> {
    let expected = dimensions
        .iter()
        .map(|d| d.describe())
        .collect::<Vec<_>>()
        .join(", or ");
    let error = match &node.value {
        Value::Text(text) => match parse_quantity(text, dimensions) {
            Ok(quantity) => return Some(quantity),
            Err(error) => error,
        },
        Value::Integer(n) => crate::quantity::QuantityError {
            message: format!("{n} has no unit"),
            suggestion: match dimensions {
                [one] => one.plain_unit().map(|unit| format!("\"{n}{unit}\"")),
                _ => None,
            },
        },
        _ => {
            findings.push(wrong_kind(node, expected));
            return None;
        }
    };
    let mut finding = node.place.error("quantity", error.message).expecting(expected);
    finding.suggestion = error.suggestion;
    findings.push(finding);
    None
}

/// The schema of a quantity: a string of number and unit.
pub(crate) fn quantity_schema(dimensions: &[Dimension]) -> serde_json::Value {
    let units: Vec<String> = dimensions
        .iter()
        .flat_map(|d| d.unit_names())
        .map(str::to_owned)
        .collect();
    let described: Vec<&str> = dimensions.iter().map(|d| d.describe()).collect();
    json!({
        "type": "string",
        "pattern": format!("^[0-9][0-9_]*(\\.[0-9_]+)? *({})$", units.join("|")),
        "description": described.join(", or "),
    })
}

/// Quantities that a field takes: a type with one variant for each dimension.
macro_rules! quantity {
    ($(#[doc = $doc:literal])* $name:ident { $($variant:ident),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($variant(u64)),+ }
        impl $crate::reader::Field for $name {
            fn read(
                node: &$crate::document::Node,
                findings: &mut Vec<$crate::diagnostic::Diagnostic>,
            ) -> Option<Self> {
                let dimensions = [$($crate::quantity::Dimension::$variant),+];
                let quantity = $crate::reader::read_quantity(node, &dimensions, findings)?;
                $(if quantity.dimension == $crate::quantity::Dimension::$variant {
                    return Some(Self::$variant(quantity.value));
                })+
                None
            }
            fn schema(_: &mut $crate::reader::Definitions) -> serde_json::Value {
                $crate::reader::quantity_schema(&[$($crate::quantity::Dimension::$variant),+])
            }
        }
    };
}
pub(crate) use quantity;

/// A quantity of one dimension only, as its number.
macro_rules! single_quantity {
    ($($(#[doc = $doc:literal])* $name:ident = $dimension:ident;)+) => { $(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) u64);
        impl Field for $name {
            fn read(node: &Node, findings: &mut Vec<Diagnostic>) -> Option<Self> {
                read_quantity(node, &[Dimension::$dimension], findings).map(|q| Self(q.value))
            }
            fn schema(_: &mut Definitions) -> serde_json::Value {
                quantity_schema(&[Dimension::$dimension])
            }
        }
    )+ };
}

single_quantity! {
    /// bit/s.
    BitRate = BitRate;
    /// frame/s.
    FrameRate = FrameRate;
    /// Bytes.
    Size = Size;
    /// Picoseconds.
    Time = Time;
    /// Millimetres.
    Length = Length;
    /// Millionths of a percent.
    Percent = Percent;
}

/// A closed set of words.
macro_rules! choice {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $vdoc:literal])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[doc = $vdoc])* $variant),+ }
        impl $crate::reader::Field for $name {
            fn read(
                node: &$crate::document::Node,
                findings: &mut Vec<$crate::diagnostic::Diagnostic>,
            ) -> Option<Self> {
                let words = [$($word),+];
                match &node.value {
                    $($crate::document::Value::Text(text) if text == $word => Some(Self::$variant),)+
                    $crate::document::Value::Text(text) => {
                        let finding = node.place.error("unknown-word", format!("`{text}` is not known here"));
                        findings.push(finding.among(text, words));
                        None
                    }
                    _ => {
                        let expected = format!("one of {}", words.join(", "));
                        findings.push($crate::reader::wrong_kind(node, expected));
                        None
                    }
                }
            }
            fn schema(_: &mut $crate::reader::Definitions) -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}
pub(crate) use choice;

/// A table with known keys: the struct, its reader and its schema. A field marked `= required` must be there.
macro_rules! table {
    ($(#[doc = $doc:literal])* $name:ident {
        $($(#[doc = $fdoc:literal])* $field:ident : $type:ty $(= $required:ident)?,)+
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub(crate) struct $name {
            /// Where the table stands. Not every table is pointed at as a whole.
            #[allow(dead_code)]
            pub(crate) place: $crate::diagnostic::Place,
            $($(#[doc = $fdoc])* pub(crate) $field: Option<$crate::reader::At<$type>>,)+
        }
        impl $crate::reader::Field for $name {
            fn read(
                node: &$crate::document::Node,
                findings: &mut Vec<$crate::diagnostic::Diagnostic>,
            ) -> Option<Self> {
                let $crate::document::Value::Table(entries) = &node.value else {
                    findings.push($crate::reader::wrong_kind(node, "a table"));
                    return None;
                };
                let mut table = Self { place: node.place.clone(), $($field: None,)+ };
                for entry in entries {
                    match entry.key.as_str() {
                        $(key if key == $crate::reader::key(stringify!($field)) => {
                            table.$field = $crate::reader::Field::read(&entry.node, findings);
                        })+
                        key => findings.push($crate::reader::unknown_key(
                            &entry.key_place,
                            key,
                            &[$($crate::reader::key(stringify!($field))),+],
                        )),
                    }
                }
                $($(
                    let _: &str = stringify!($required);
                    let key = $crate::reader::key(stringify!($field));
                    if !entries.iter().any(|e| e.key == key) {
                        findings.push($crate::reader::missing_key(&node.place, key));
                    }
                )?)+
                Some(table)
            }
            fn schema(definitions: &mut $crate::reader::Definitions) -> serde_json::Value {
                let name = stringify!($name);
                if !definitions.contains_key(name) {
                    // The name is taken before the fields are looked at: a class may hold classes.
                    definitions.insert(name.to_owned(), serde_json::Value::Null);
                    let mut properties = serde_json::Map::new();
                    #[allow(unused_mut)]
                    let mut required: Vec<&str> = Vec::new();
                    $(
                        let key = $crate::reader::key(stringify!($field));
                        let text: &[&str] = &[$($fdoc),*];
                        let schema = <$type as $crate::reader::Field>::schema(definitions);
                        properties.insert(key.to_owned(), $crate::reader::describe(schema, text));
                        $(
                            let _: &str = stringify!($required);
                            required.push(key);
                        )?
                    )+
                    let text: &[&str] = &[$($doc),*];
                    let schema = serde_json::json!({
                        "type": "object",
                        "properties": properties,
                        "required": required,
                        "additionalProperties": false,
                    });
                    definitions.insert(name.to_owned(), $crate::reader::describe(schema, text));
                }
                serde_json::json!({ "$ref": format!("#/$defs/{name}") })
            }
        }
    };
}
pub(crate) use table;

/// The key in the text of a field: raw identifiers lose their mark.
pub(crate) fn key(field: &'static str) -> &'static str {
    field.strip_prefix("r#").unwrap_or(field)
}

/// Puts the doc comment of a declaration into its schema.
pub(crate) fn describe(mut schema: serde_json::Value, text: &[&str]) -> serde_json::Value {
    let text = text.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    if let Some(object) = schema.as_object_mut()
        && !text.is_empty()
    {
        object.insert("description".to_owned(), text.into());
    }
    schema
}

pub(crate) fn unknown_key(place: &Place, key: &str, valid: &[&str]) -> Diagnostic {
    place
        .error("unknown-key", format!("the key `{key}` is not known here"))
        .among(key, valid.iter().copied())
}

pub(crate) fn missing_key(place: &Place, key: &str) -> Diagnostic {
    place
        .inside(key)
        .error("missing-key", format!("the key `{key}` is missing"))
}
