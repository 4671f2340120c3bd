//! How is a word said once, beside the variant that it names?
//!
//! Files keep names. In an open set a name that is known is a variant, so that code asks for it and the compiler reads along; any
//! other, a user's or a later version's, is kept as it is.

/// An enum each of whose variants has a name for tables and sentences.
macro_rules! words {
    ($(#[$about:meta])* pub enum $set:ident { $($(#[$doc:meta])* $one:ident = $word:literal,)+ }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, schemars::JsonSchema, serde::Serialize, serde::Deserialize)]
        $(#[$about])*
        pub enum $set {
            $($(#[$doc])* $one,)+
        }

        impl $set {
            /// All of them, in the order in which they are declared.
            pub const ALL: [$set; [$($word),+].len()] = [$($set::$one),+];

            /// Name in tables and sentences.
            pub const fn name(self) -> &'static str {
                match self {
                    $($set::$one => $word,)+
                }
            }
        }
    };
}

/// An open set of names, stored as text.
macro_rules! named {
    ($(#[$about:meta])* $set:ident { $($(#[$doc:meta])* $one:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, schemars::JsonSchema, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $set {
            $($(#[$doc])* $one,)+
            /// Another one, by its name.
            Other(String),
        }

        impl $set {
            /// Name as it is stored and shown.
            pub fn name(&self) -> &str {
                match self {
                    $($set::$one => $name,)+
                    $set::Other(name) => name,
                }
            }
        }

        impl From<String> for $set {
            fn from(name: String) -> $set {
                match name.as_str() {
                    $($name => $set::$one,)+
                    _ => $set::Other(name),
                }
            }
        }

        impl From<$set> for String {
            fn from(one: $set) -> String {
                match one {
                    $set::Other(name) => name,
                    known => known.name().to_owned(),
                }
            }
        }

        impl Default for $set {
            fn default() -> $set {
                $set::Other(String::new())
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.name())
            }
        }
    };
}
