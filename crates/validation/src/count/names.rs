//! What the guest's addresses mean: its symbols, and the same rules by which `iostack layers` sorts samples.

use iostack_attribute::classify::{Classifier, FunctionTable, Rules, Symbols, SymbolsError};
use iostack_lab::cost::{Function, Names};

/// Names and layers of one guest.
pub(super) struct GuestNames {
    classifier: Classifier,
    symbols: Symbols,
}

impl GuestNames {
    /// Reads the guest's symbols, in the form of `/proc/kallsyms`. Those of the modules in `built` are a driver's.
    pub(super) fn parse(kallsyms: &str, built: &[String]) -> Result<GuestNames, SymbolsError> {
        let symbols = Symbols::parse(kallsyms)?;
        let rules = Rules::built_in().with_drivers(built);
        let classifier = Classifier::exact(&rules, &symbols, FunctionTable::built_in());
        Ok(GuestNames { classifier, symbols })
    }
}

impl Names for GuestNames {
    fn function(&self, pc: u64) -> Option<Function<'_>> {
        let id = self.symbols.find(pc)?;
        let symbol = self.symbols.symbol(id);
        Some(Function { name: symbol.name, module: symbol.module, start: self.symbols.address(id) })
    }

    fn layer(&mut self, stack: &[u64]) -> String {
        // The classifier takes callers' addresses for return addresses, which may lie behind their function.
        let address = |(place, &pc): (usize, &u64)| if place == 0 { pc } else { pc + 1 };
        let stack: Vec<u64> = stack.iter().enumerate().map(address).collect();
        let class = self.classifier.classify(&stack, false);
        self.classifier.rules().layer_name(class.layer).to_owned()
    }

    fn meaning(&self, layer: &str) -> String {
        let layers = self.classifier.rules().layers();
        layers.iter().find(|(name, _)| name == layer).map_or_else(String::new, |(_, meaning)| meaning.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KALLSYMS: &str = "\
ffffffff81000000 T _text
ffffffff81000100 T vfs_read
ffffffff81000200 T submit_bio
ffffffff81000300 T _raw_spin_lock
ffffffffc0000000 t scsi_ram_queuecommand\t[scsi_ram]
";

    fn layer(stack: &[u64]) -> String {
        GuestNames::parse(KALLSYMS, &[]).expect("it is as the kernel writes it").layer(stack)
    }

    #[test]
    fn a_lock_is_its_callers_even_at_the_callers_first_address() {
        let (submit, lock, queue) = (0xffff_ffff_8100_0200, 0xffff_ffff_8100_0300, 0xffff_ffff_c000_0000);
        assert_eq!(layer(&[lock, submit]), "block");
        assert_eq!(layer(&[lock, queue, submit]), "driver");
        assert_eq!(layer(&[lock]), "locking");
        assert_eq!(layer(&[]), "user");
    }

    #[test]
    fn functions_come_with_their_module_and_their_beginning() {
        let names = GuestNames::parse(KALLSYMS, &[]).expect("it is as the kernel writes it");
        let found = names.function(0xffff_ffff_c000_0040).expect("the last begins before it");
        assert_eq!(
            (found.name, found.module, found.start),
            ("scsi_ram_queuecommand", Some("scsi_ram"), 0xffff_ffff_c000_0000)
        );
        assert_eq!(names.meaning("user"), "application and libraries");
    }
}
