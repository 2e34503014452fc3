//! Formulas as a data file writes them: names, numbers, `+ - * /` and parentheses.
//!
//! The text that is shown is the text that is evaluated, so a computation cannot say one thing and do another. It leaves
//! out powers and functions: the arithmetic of the documents needs none.

use std::fmt;

/// Deeper nesting is refused, so that no text can exhaust the stack.
const DEEPEST: u32 = 32;

/// A formula that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    tokens: Vec<Token>,
    root: Node,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(f64, String),
    Name(String),
    Sign(char),
}

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Name(String),
    Minus(Box<Self>),
    Pair(char, Box<Self>, Box<Self>),
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// Says what was expected and what stood there.
    pub fn read(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
            depth: 0,
        };
        let root = reader.sum()?;
        if let Some(surplus) = reader.peek() {
            return Err(format!(
                "`{text}`: `{surplus}` stands where the formula should end"
            ));
        }
        Ok(Self { tokens, root })
    }

    /// The names that it needs, in the order in which they occur, each once.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for token in &self.tokens {
            if let Token::Name(name) = token
                && !names.contains(&name.as_str())
            {
                names.push(name);
            }
        }
        names
    }

    /// Its value; `None` where a name has none.
    pub fn value(&self, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
        value(&self.root, of)
    }

    /// The formula with every name replaced by what `of` writes for it.
    pub fn written(&self, of: &dyn Fn(&str) -> String) -> String {
        let mut text = String::new();
        let mut before: Option<&Token> = None;
        for token in &self.tokens {
            let sign = |t: &Token, which: &str| matches!(t, Token::Sign(c) if which.contains(*c));
            // Parentheses stand close to what they hold, all else apart.
            let close = sign(token, ")") || before.is_none_or(|b| sign(b, "("));
            if !close {
                text.push(' ');
            }
            match token {
                Token::Number(_, digits) => text.push_str(digits),
                Token::Name(name) => text.push_str(&of(name)),
                Token::Sign('*') => text.push('x'),
                Token::Sign(c) => text.push(*c),
            }
            before = Some(token);
        }
        text
    }
}

fn value(node: &Node, of: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    Some(match node {
        Node::Number(number) => *number,
        Node::Name(name) => of(name)?,
        Node::Minus(inner) => -value(inner, of)?,
        Node::Pair(sign, left, right) => {
            let (left, right) = (value(left, of)?, value(right, of)?);
            match sign {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                _ => left / right,
            }
        }
    })
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(_, text) | Self::Name(text) => f.write_str(text),
            Self::Sign(c) => write!(f, "{c}"),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if first.is_ascii_digit() {
            let end = |c: char| !(c.is_ascii_digit() || c == '.');
            rest.find(end).unwrap_or(rest.len())
        } else if first.is_ascii_alphabetic() {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
            rest.find(end).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (word, after) = rest.split_at(length);
        tokens.push(if first.is_ascii_digit() {
            let number = word
                .parse()
                .map_err(|_| format!("`{text}`: `{word}` is no number"))?;
            Token::Number(number, word.to_owned())
        } else if first.is_ascii_alphabetic() {
            Token::Name(word.to_owned())
        } else if "+-*/()".contains(first) {
            Token::Sign(first)
        } else {
            return Err(format!(
                "`{text}`: `{first}` has no meaning; there are + - * / and ( )"
            ));
        });
        rest = after.trim_start();
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn take_sign(&mut self, which: &str) -> Option<char> {
        match self.peek() {
            Some(Token::Sign(c)) if which.contains(*c) => {
                let c = *c;
                self.at += 1;
                Some(c)
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Node, String> {
        let mut left = self.product()?;
        while let Some(sign) = self.take_sign("+-") {
            left = Node::Pair(sign, Box::new(left), Box::new(self.product()?));
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut left = self.factor()?;
        while let Some(sign) = self.take_sign("*/") {
            left = Node::Pair(sign, Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("the formula nests deeper than {DEEPEST} levels"));
        }
        let node = if self.take_sign("-").is_some() {
            Node::Minus(Box::new(self.factor()?))
        } else if self.take_sign("(").is_some() {
            let inner = self.sum()?;
            if self.take_sign(")").is_none() {
                return Err("a `(` is not closed".to_owned());
            }
            inner
        } else {
            let node = match self.peek() {
                Some(Token::Number(number, _)) => Node::Number(*number),
                Some(Token::Name(name)) => Node::Name(name.clone()),
                Some(other) => return Err(format!("`{other}` stands where a number or a name should")),
                None => return Err("the formula ends where a number or a name should stand".to_owned()),
            };
            self.at += 1;
            node
        };
        self.depth -= 1;
        Ok(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value_of(text: &str) -> f64 {
        let formula = Formula::read(text).unwrap_or_else(|e| panic!("{e}"));
        formula
            .value(&|name| (name == "a").then_some(7.0))
            .expect("names known")
    }

    #[test]
    fn products_bind_closer_than_sums_and_both_go_from_left_to_right() {
        assert_eq!(value_of("1 + 2 * 3 - 4 / 2"), 5.0);
        assert_eq!(value_of("8 / 4 / 2"), 1.0);
        assert_eq!(value_of("8 - 4 - 2"), 2.0);
        assert_eq!(value_of("-(1 - a) * 2"), 12.0);
    }

    #[test]
    fn what_is_shown_is_what_is_read() {
        let formula = Formula::read("(46+a)*8").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(formula.written(&|_| "64 B".to_owned()), "(46 + 64 B) x 8");
        assert_eq!(formula.names(), ["a"]);
    }

    #[test]
    fn a_slip_is_told() {
        for (text, part) in [
            ("1 +", "ends"),
            ("(1", "not closed"),
            ("1 2", "should end"),
            ("1 ^ 2", "no meaning"),
            ("* 2", "`*` stands"),
            ("1.2.3", "no number"),
            ("", "ends"),
        ] {
            let said = Formula::read(text).expect_err(text);
            assert!(said.contains(part), "{text}: {said}");
        }
        let deep = format!("{}1", "(".repeat(100_000));
        assert!(Formula::read(&deep).is_err_and(|e| e.contains("deeper")));
    }

    #[test]
    fn an_unknown_name_has_no_value() {
        let formula = Formula::read("b").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(formula.value(&|_| None), None);
    }
}
