# tries: to have files outside of /output read, by a link in place of a folder that is collected
# expect: success
# collects: models/ deep/inner/file
# holds: feedback has no root:
import os

os.symlink("/etc", "/output/models")
os.symlink("/", "/output/deep")
os.mkdir("/tmp/inner")
