//! How is a field's default said once, beside the field?

/// A struct with its defaults: `field: Type = value`; without a value it is the type's own.
macro_rules! with_defaults {
    (@) => { Default::default() };
    (@ $value:expr) => { $value };
    ($(#[$about:meta])* pub struct $set:ident {
        $($(#[$doc:meta])* pub $field:ident: $type:ty $(= $value:expr)?,)+
    }) => {
        $(#[$about])*
        pub struct $set {
            $($(#[$doc])* pub $field: $type,)+
        }

        impl Default for $set {
            fn default() -> $set {
                $set { $($field: with_defaults!(@ $($value)?),)+ }
            }
        }
    };
}
