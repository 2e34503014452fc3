//! What is kept between two calls of the program, so that what is finished is not run again.
//!
//! The store is a map from names to bytes that somebody else keeps (the command: a folder). A name is a digest of everything
//! that the result depends on.

/// Keeps finished results under the digest of what they depend on. Both calls come from several threads.
pub trait Store: Sync {
    /// What was kept under this name; `None` where there is nothing or it cannot be trusted.
    fn get(&self, name: &str) -> Option<Vec<u8>>;
    /// Keeps a result. That it cannot be kept is no failure of the run: the store says so itself.
    fn put(&self, name: &str, bytes: &[u8]);
}
