// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The CPU moves the data, so a buffer is never mapped for DMA. Its exporter
 * maps it for the CPU, and the region consists of the pages of this mapping.
 * ib_umem_dmabuf_get() would map it for DMA, which a device without hardware
 * does not have.
 *
 * Three things keep the pages until cairn_dmabuf_put(): the reference to the
 * file, the attachment and the mapping. Some exporters pin pages at the
 * attachment, others at the mapping. Exporters that may move pages in spite of
 * both (they have a pin operation) are refused.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat/dmabuf.h"
#include "mem/dmabuf.h"
#include "mem/page.h"

struct cairn_dmabuf {
	struct dma_buf *buf;
	struct dma_buf_attachment *attach;
	struct iosys_map map;
	bool writable;
};

static int dmabuf_check(const struct dma_buf *buf, bool writable)
{
	/* As for mmap(): writes need a file that is open for writing. */
	if (writable && !(buf->file->f_mode & FMODE_WRITE))
		return -EACCES;
	if (!buf->ops->vmap || buf->ops->pin)
		return -EOPNOTSUPP;
	return 0;
}

static enum dma_data_direction dmabuf_dir(const struct cairn_dmabuf *dmabuf)
{
	return dmabuf->writable ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

static void dmabuf_unmap(struct cairn_dmabuf *dmabuf)
{
	dma_buf_vunmap_unlocked(dmabuf->buf, &dmabuf->map);
}

/* Map the buffer, and wait for pending accesses of other devices. */
static int dmabuf_map(struct cairn_dmabuf *dmabuf)
{
	int err = dma_buf_vmap_unlocked(dmabuf->buf, &dmabuf->map);

	if (err)
		return err;
	if (dmabuf->map.is_iomem || offset_in_page(dmabuf->map.vaddr))
		err = -EOPNOTSUPP;
	else
		err = dma_buf_begin_cpu_access(dmabuf->buf, dmabuf_dir(dmabuf));
	if (err)
		dmabuf_unmap(dmabuf);
	return err;
}

struct cairn_dmabuf *cairn_dmabuf_get(struct device *dev, int fd, bool writable)
{
	struct cairn_dmabuf *dmabuf;
	int err;

	dmabuf = kzalloc(sizeof(*dmabuf), GFP_KERNEL_ACCOUNT);
	if (!dmabuf)
		return ERR_PTR(-ENOMEM);
	dmabuf->writable = writable;
	dmabuf->buf = dma_buf_get(fd);
	if (IS_ERR(dmabuf->buf)) {
		err = PTR_ERR(dmabuf->buf);
		goto err_free;
	}
	err = dmabuf_check(dmabuf->buf, writable);
	if (err)
		goto err_put;
	dmabuf->attach = dma_buf_attach(dmabuf->buf, dev);
	if (IS_ERR(dmabuf->attach)) {
		err = PTR_ERR(dmabuf->attach);
		goto err_put;
	}
	err = dmabuf_map(dmabuf);
	if (err)
		goto err_detach;
	return dmabuf;

err_detach:
	dma_buf_detach(dmabuf->buf, dmabuf->attach);
err_put:
	dma_buf_put(dmabuf->buf);
err_free:
	kfree(dmabuf);
	return ERR_PTR(err);
}

void cairn_dmabuf_put(struct cairn_dmabuf *dmabuf)
{
	if (!dmabuf)
		return;
	dma_buf_end_cpu_access(dmabuf->buf, dmabuf_dir(dmabuf));
	dmabuf_unmap(dmabuf);
	dma_buf_detach(dmabuf->buf, dmabuf->attach);
	dma_buf_put(dmabuf->buf);
	kfree(dmabuf);
}

bool cairn_dmabuf_has(const struct cairn_dmabuf *dmabuf, u64 offset, u64 length)
{
	return offset <= dmabuf->buf->size &&
	       length <= dmabuf->buf->size - offset;
}

/* The page mapped at @va, or NULL if the data path may not touch it. */
static struct page *dmabuf_page(const void *va)
{
	struct page *page;

	if (is_vmalloc_addr(va))
		page = vmalloc_to_page(va);
	else
		page = virt_addr_valid(va) ? virt_to_page(va) : NULL;
	return page && cairn_page_touchable(page) ? page : NULL;
}

int cairn_dmabuf_pages(const struct cairn_dmabuf *dmabuf, u64 offset,
		       unsigned long *pages, size_t num)
{
	const u8 *va = dmabuf->map.vaddr;
	size_t i;

	va += offset & PAGE_MASK;
	for (i = 0; i < num; i++, va += PAGE_SIZE) {
		struct page *page = dmabuf_page(va);

		if (!page)
			return -EOPNOTSUPP;
		pages[i] = (unsigned long)page_address(page);
		if (!(i % 1024))
			cond_resched();
	}
	return 0;
}
