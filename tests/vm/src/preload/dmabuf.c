// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * For LD_PRELOAD, into pyverbs, which Debian builds without a source of dma-bufs: these
 * functions take them from the driver vgem, which needs no hardware.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* From <drm/drm.h>, which need not be installed. */
struct drm_dumb_create {
	uint32_t height, width, bpp, flags;
	uint32_t handle, pitch;
	uint64_t size;
};

struct drm_dumb_map {
	uint32_t handle, pad;
	uint64_t offset;
};

struct drm_prime {
	uint32_t handle, flags;
	int32_t fd;
};

#define DRM_CREATE_DUMB	_IOWR('d', 0xb2, struct drm_dumb_create)
#define DRM_MAP_DUMB	_IOWR('d', 0xb3, struct drm_dumb_map)
#define DRM_HANDLE_FD	_IOWR('d', 0x2d, struct drm_prime)

struct dmabuf {
	int card, fd;
	uint64_t offset;
};

struct dmabuf *dmabuf_alloc(unsigned long size, int gpu, int gtt);
void dmabuf_free(struct dmabuf *dmabuf);
int dmabuf_get_drm_fd(struct dmabuf *dmabuf);
int dmabuf_get_fd(struct dmabuf *dmabuf);
unsigned long dmabuf_get_offset(struct dmabuf *dmabuf);

struct dmabuf *dmabuf_alloc(unsigned long size, int gpu, int gtt)
{
	struct drm_dumb_create create = {
		.height = (size + 4095) / 4096, .width = 4096, .bpp = 8,
	};
	struct dmabuf *dmabuf = malloc(sizeof(*dmabuf));
	struct drm_prime prime = { .flags = O_RDWR };
	struct drm_dumb_map map = {};

	(void)gpu;
	(void)gtt;
	if (!dmabuf)
		return NULL;
	dmabuf->card = open("/dev/dri/card0", O_RDWR);
	if (dmabuf->card < 0 || ioctl(dmabuf->card, DRM_CREATE_DUMB, &create))
		goto err_card;
	map.handle = create.handle;
	prime.handle = create.handle;
	if (ioctl(dmabuf->card, DRM_MAP_DUMB, &map) ||
	    ioctl(dmabuf->card, DRM_HANDLE_FD, &prime))
		goto err_card;
	dmabuf->fd = prime.fd;
	dmabuf->offset = map.offset;
	return dmabuf;

err_card:
	/* the last descriptor takes the handle along */
	if (dmabuf->card >= 0)
		close(dmabuf->card);
	free(dmabuf);
	return NULL;
}

void dmabuf_free(struct dmabuf *dmabuf)
{
	close(dmabuf->fd);
	close(dmabuf->card);
	free(dmabuf);
}

int dmabuf_get_drm_fd(struct dmabuf *dmabuf)
{
	return dmabuf->card;
}

int dmabuf_get_fd(struct dmabuf *dmabuf)
{
	return dmabuf->fd;
}

unsigned long dmabuf_get_offset(struct dmabuf *dmabuf)
{
	return dmabuf->offset;
}
