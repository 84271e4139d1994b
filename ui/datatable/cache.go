package datatable

import (
	"container/list"
	"context"
	"sync"
)

// Cache keeps the tables that were used last, up to a number of bytes. It builds one table at a
// time, so that the memory of all tables is bounded.
type Cache struct {
	max  int64
	slot chan struct{} // has an element while a table is built

	mu    sync.Mutex
	held  int64
	order *list.List // of *entry, the last used first
	byKey map[string]*list.Element
}

type entry struct {
	key   string
	table *Table
	size  int64
}

// NewCache returns a Cache of at most max bytes.
func NewCache(max int64) *Cache {
	return &Cache{max: max, slot: make(chan struct{}, 1), order: list.New(), byKey: map[string]*list.Element{}}
}

// Get returns the table with a key. If the cache does not have it, Get calls build. The key must
// determine the content of the table. The caller must check the right to read before.
func (c *Cache) Get(ctx context.Context, key string, build func() (*Table, error)) (*Table, error) {
	if t := c.find(key); t != nil {
		return t, nil
	}
	select {
	case c.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.slot }()
	if t := c.find(key); t != nil {
		return t, nil
	}
	t, err := build()
	if err == nil {
		c.add(key, t)
	}
	return t, err
}

func (c *Cache) find(key string) *Table {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*entry).table
}

func (c *Cache) add(key string, t *Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &entry{key, t, t.Size() + int64(len(key))}
	if e.size > c.max || c.byKey[key] != nil {
		return
	}
	c.byKey[key] = c.order.PushFront(e)
	for c.held += e.size; c.held > c.max; {
		last := c.order.Back()
		old := last.Value.(*entry)
		c.order.Remove(last)
		delete(c.byKey, old.key)
		c.held -= old.size
	}
}
