/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The memory behind a dma-buf, as the CPU sees it, held for a region. */
#ifndef CAIRN_MEM_DMABUF_H
#define CAIRN_MEM_DMABUF_H

#include <linux/device.h>
#include <linux/types.h>

struct cairn_dmabuf;

/**
 * cairn_dmabuf_get() - hold a buffer and keep it where it is
 * @dev: who attaches to it
 * @fd: of the calling process
 * @writable: it will be written
 *
 * Return: the buffer; -EBADF, -EINVAL (no dma-buf), -EACCES (not open for writing),
 * -EOPNOTSUPP (the CPU cannot use it, or it may be moved), -ERESTARTSYS, -ENOMEM or
 * what the exporter returns. Sleeps.
 */
struct cairn_dmabuf *cairn_dmabuf_get(struct device *dev, int fd, bool writable);

/* Nobody uses its pages any more. NULL is nothing. Sleeps. */
void cairn_dmabuf_put(struct cairn_dmabuf *dmabuf);

/* Do @length bytes from @offset on lie in it? */
bool cairn_dmabuf_has(const struct cairn_dmabuf *dmabuf, u64 offset, u64 length);

/**
 * cairn_dmabuf_pages() - where do its pages lie?
 * @dmabuf: the buffer
 * @offset: of a byte in the first page
 * @pages: get their kernel virtual addresses
 * @num: how many, all of them in the buffer
 *
 * Return: 0, or -EOPNOTSUPP: it is no memory of the kernel's.
 */
int cairn_dmabuf_pages(const struct cairn_dmabuf *dmabuf, u64 offset,
		       unsigned long *pages, size_t num);

#endif
