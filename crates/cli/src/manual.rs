//! Completions and the manual page, from the definitions of the command line.

use crate::arguments::Arguments;
use crate::ending::{Failure, print};
use clap::CommandFactory;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "clearway", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Prints the manual page of the command or of one subcommand.
pub(crate) fn page(subcommand: Option<&str>) -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    if let Some(name) = subcommand {
        let names: Vec<String> = command
            .get_subcommands()
            .map(|c| c.get_name().to_owned())
            .collect();
        let Some(found) = command.find_subcommand(name) else {
            let known = names.join(", ");
            return Err(Failure::Usage(format!(
                "man: no subcommand {name:?}; there are {known}"
            )));
        };
        command = found.clone();
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut text)
        .map_err(|e| Failure::Environment(format!("cannot make the manual page: {e}")))?;
    print(&String::from_utf8_lossy(&text))
}
