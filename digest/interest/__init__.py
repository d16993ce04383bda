"""What somebody cares about: libraries read, liked papers, how near a paper is to them, and why."""
