//! A slab: values under small handles, with a list of free places.
//!
//! Frames live here while events and queues carry four bytes. Places are given out last freed first, which keeps
//! the touched memory small. Left out: generations; a handle is good until its value is taken out, once.

/// Values under `u32` handles.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<Option<T>>,
    /// Free places, last freed last.
    free: Vec<u32>,
}

impl<T> Slab<T> {
    /// An empty slab with room for `capacity` values before it allocates.
    #[must_use]
    pub fn with_capacity(capacity: u32) -> Self {
        Self {
            places: Vec::with_capacity(capacity as usize),
            free: Vec::with_capacity(capacity as usize),
        }
    }

    /// A free place and its handle, to put a value into; none where all 2^32 - 1 handles are in use. A place that is left
    /// empty stays taken.
    #[inline]
    pub(crate) fn place(&mut self) -> Option<(u32, &mut Option<T>)> {
        let handle = match self.free.pop() {
            Some(handle) => handle,
            None => self.extend()?,
        };
        Some((handle, self.places.get_mut(handle as usize)?))
    }

    /// Keeps a value and returns its handle, or gives the value back where all 2^32 - 1 handles are in use.
    ///
    /// # Errors
    /// The value itself: there is no handle left.
    #[inline]
    pub fn insert(&mut self, value: T) -> Result<u32, T> {
        match self.place() {
            Some((handle, place)) => {
                *place = Some(value);
                Ok(handle)
            }
            None => Err(value),
        }
    }

    #[cold]
    fn extend(&mut self) -> Option<u32> {
        let handle = u32::try_from(self.places.len()).ok().filter(|&h| h < u32::MAX)?;
        self.places.push(None);
        Some(handle)
    }

    /// Takes a value out; its handle is free again.
    #[inline]
    pub fn remove(&mut self, handle: u32) -> Option<T> {
        let value = self.places.get_mut(handle as usize)?.take()?;
        self.free.push(handle);
        Some(value)
    }

    /// The value under a handle.
    #[inline]
    #[must_use]
    pub fn get(&self, handle: u32) -> Option<&T> {
        self.places.get(handle as usize)?.as_ref()
    }

    /// The value under a handle, to change.
    #[inline]
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.places.get_mut(handle as usize)?.as_mut()
    }

    /// Values kept now.
    #[must_use]
    pub const fn len(&self) -> u32 {
        (self.places.len() - self.free.len()) as u32
    }

    /// True where nothing is kept.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most values that were kept at once.
    #[must_use]
    pub fn len_max(&self) -> usize {
        self.places.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_gives_its_value_until_it_is_taken_out_once() {
        let mut slab = Slab::with_capacity(2);
        let a = slab.insert("a").unwrap();
        let b = slab.insert("b").unwrap();
        assert_eq!(
            (slab.get(a), slab.get(b), slab.len()),
            (Some(&"a"), Some(&"b"), 2)
        );
        if let Some(value) = slab.get_mut(b) {
            *value = "c";
        }
        assert_eq!(slab.remove(b), Some("c"));
        assert_eq!(slab.remove(b), None);
        assert_eq!(slab.get(b), None);
        assert_eq!(slab.get_mut(99), None);
        assert_eq!(slab.remove(a), Some("a"));
        assert!(slab.is_empty());
    }

    #[test]
    fn freed_places_are_used_again_last_freed_first() {
        let mut slab = Slab::with_capacity(0);
        let handles: Vec<u32> = (0..4).map(|value| slab.insert(value).unwrap()).collect();
        slab.remove(handles[1]);
        slab.remove(handles[3]);
        assert_eq!(slab.insert(8), Ok(handles[3]));
        assert_eq!(slab.insert(9), Ok(handles[1]));
        assert_eq!(slab.insert(10), Ok(4));
        assert_eq!(slab.len_max(), 5);
    }
}
