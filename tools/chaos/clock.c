/* Moves the clock of a process that is started with LD_PRELOAD: by the seconds in the first bytes of $CLOCK_FILE. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int *seconds;

__attribute__((constructor)) static void open_clock(void) {
  const char *path = getenv("CLOCK_FILE");
  int file = path == NULL ? -1 : open(path, O_RDONLY);
  if (file < 0) return;
  void *page = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) seconds = page;
  close(file);
}

/* What Redis reads its time with; through clock_gettime, so that nothing has to be looked up. */
int gettimeofday(struct timeval *tv, void *zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  tv->tv_sec = now.tv_sec + (seconds == NULL ? 0 : *seconds);
  tv->tv_usec = now.tv_nsec / 1000;
  return 0;
}
