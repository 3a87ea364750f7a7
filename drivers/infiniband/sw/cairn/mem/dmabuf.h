/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The pages of a dma-buf, mapped for the CPU and held for a region. */
#ifndef CAIRN_MEM_DMABUF_H
#define CAIRN_MEM_DMABUF_H

#include <linux/device.h>
#include <linux/types.h>

struct cairn_dmabuf;

/**
 * cairn_dmabuf_get() - hold a buffer and keep its pages in place
 * @dev: the device that attaches to it
 * @fd: a dma-buf of the calling process
 * @writable: the region allows writes
 *
 * Context: process, sleeps.
 * Return: the buffer; -EBADF, -EINVAL (no dma-buf), -EACCES (not open for
 * writing), -EOPNOTSUPP (the CPU cannot use it, or it may be moved), -ERESTARTSYS,
 * -ENOMEM or an error of the exporter.
 */
struct cairn_dmabuf *cairn_dmabuf_get(struct device *dev, int fd, bool writable);

/* Release a buffer whose pages are not used any more. NULL is allowed. Sleeps.
 */
void cairn_dmabuf_put(struct cairn_dmabuf *dmabuf);

/* Does the buffer contain @length bytes from @offset on? */
bool cairn_dmabuf_has(const struct cairn_dmabuf *dmabuf, u64 offset, u64 length);

/**
 * cairn_dmabuf_pages() - get the addresses of pages
 * @dmabuf: the buffer
 * @offset: a byte in the first page
 * @pages: gets the kernel virtual addresses
 * @num: number of pages, all of them in the buffer
 *
 * Return: 0, or -EOPNOTSUPP if the data path may not touch a page.
 */
int cairn_dmabuf_pages(const struct cairn_dmabuf *dmabuf, u64 offset,
		       unsigned long *pages, size_t num);

#endif
