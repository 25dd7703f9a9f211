"""A report as PDF pages: Markdown laid out with tables over the width of the page, and page numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QLineF, QMarginsF, QRectF, QSizeF, Qt, QUrl
from PySide6.QtGui import (
    QAbstractTextDocumentLayout,
    QBrush,
    QColor,
    QFont,
    QImage,
    QPageLayout,
    QPageSize,
    QPainter,
    QPalette,
    QPdfWriter,
    QTextBlock,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrame,
    QTextFrameFormat,
    QTextImageFormat,
    QTextLength,
    QTextTable,
)

from gui.canvas.picture import painting_application, steady_pdf
from gui.theme import Theme, theme_named

_RESOLUTION = 600
_LAYOUT_DPI = 96  # pages are laid out in these pixels, and scaled to the writer's
_MARGINS_MM = QMarginsF(17, 16, 17, 12)
_FOOTER_PT = 22.0
_TEXT_PT, _TABLE_PT = 9.5, 8.0
_HEADING_PT = {1: 20.0, 2: 13.0}
_PICTURE_SHARE = 0.4  # of the height of a page, at most
_TABLE_SHARES = {2: 45, 3: 70}  # percent of the width of the page, by columns; all of it for others
_PAPERS = {"a4": QPageSize.PageSizeId.A4, "letter": QPageSize.PageSizeId.Letter}
_WIDEST_PX = 2000  # of a picture: 290 dots per inch over the width of a page


def report_pdf(markdown: str, pictures: Mapping[str, bytes], paper: str = "a4") -> bytes:
    """The pages as PDF. `pictures`: PNG by the name that the text refers to; `paper`: a4 or letter."""
    application = painting_application()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(buffer)
    writer.setResolution(_RESOLUTION)
    writer.setPageSize(QPageSize(_PAPERS[paper]))
    writer.setPageMargins(_MARGINS_MM, QPageLayout.Unit.Millimeter)
    title = _title(markdown)
    writer.setTitle(title)
    writer.setCreator("Railsketch")
    pages = _Pages(writer, markdown, pictures, title)
    with QPainter(writer) as painter:
        pages.paint(painter)
    buffer.close()
    del application
    return steady_pdf(bytes(data.data()))


def _title(markdown: str) -> str:
    first = next((line for line in markdown.splitlines() if line.startswith("# ")), "# Report")
    return re.sub(r"\\(.)", r"\1", first[2:])


class _Pages:
    """The text, laid out for the pages of a writer."""

    def __init__(self, writer: QPdfWriter, markdown: str, pictures: Mapping[str, bytes], title: str) -> None:
        self._writer, self._title, self._theme = writer, title, theme_named("light")
        area = writer.pageLayout().paintRect(QPageLayout.Unit.Point)
        self._width = _px(area.width())
        self._height = _px(area.height() - _FOOTER_PT)
        self._document = QTextDocument()
        self._document.setDocumentMargin(0)
        self._document.setUseDesignMetrics(True)
        self._document.setDefaultFont(_font(self._theme, _TEXT_PT))
        self._document.setMarkdown(markdown, QTextDocument.MarkdownFeature.MarkdownDialectGitHub)
        sizes = self._add_pictures(pictures)
        self._style_blocks()
        self._style_tables()
        self._fit_pictures(sizes)
        self._document.setPageSize(QSizeF(self._width, self._height))
        self._keep_headings()

    def paint(self, painter: QPainter) -> None:
        """All pages, with the title and "page 2 of 7" below each."""
        count = self._document.pageCount()
        context = QAbstractTextDocumentLayout.PaintContext()
        context.palette.setColor(QPalette.ColorRole.Text, QColor(self._theme.color("text")))
        painter.scale(_RESOLUTION / _LAYOUT_DPI, _RESOLUTION / _LAYOUT_DPI)
        for page in range(count):
            if page:
                self._writer.newPage()
            painter.save()
            painter.translate(0.0, -page * self._height)
            context.clip = QRectF(0.0, page * self._height, self._width, self._height)
            painter.setClipRect(context.clip.adjusted(0.0, 0.0, 0.0, -1.0))
            self._document.documentLayout().draw(painter, context)
            painter.restore()
            self._paint_footer(painter, f"Page {page + 1} of {count}")

    def _paint_footer(self, painter: QPainter, number: str) -> None:
        top = self._height + _px(6)
        painter.setPen(self._theme.color("line"))
        painter.drawLine(QLineF(0.0, top, self._width, top))
        painter.setPen(self._theme.color("text-2"))
        painter.setFont(_font(self._theme, 7.5))
        box = QRectF(0.0, top + _px(4), self._width, _px(12))
        painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, number)
        room = box.width() - painter.fontMetrics().horizontalAdvance(number) - _px(12)
        title = painter.fontMetrics().elidedText(self._title, Qt.TextElideMode.ElideRight, int(room))
        painter.drawText(box, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, title)

    def _add_pictures(self, pictures: Mapping[str, bytes]) -> dict[str, tuple[float, float]]:
        """Hand the pictures to the document; gives their width and height."""
        sizes = {}
        for name, png in pictures.items():
            image = QImage.fromData(png)
            if image.width() > _WIDEST_PX:
                image = image.scaledToWidth(_WIDEST_PX, Qt.TransformationMode.SmoothTransformation)
            self._document.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(name), image)
            sizes[name] = (float(max(1, image.width())), float(max(1, image.height())))
        return sizes

    def _style_blocks(self) -> None:
        """Sizes of headings, and room around paragraphs."""
        block = self._document.begin()
        while block.isValid():
            level = block.blockFormat().headingLevel()
            cursor = QTextCursor(block)
            form = block.blockFormat()
            form.setTopMargin(_px(14 if level == 2 else 0))
            form.setBottomMargin(_px(6 if level else 4))
            cursor.setBlockFormat(form)
            if level:
                cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
                style = QTextCharFormat()
                style.setFont(_font(self._theme, _HEADING_PT.get(level, 11.0), 650))
                style.setForeground(QBrush(self._theme.color("text")))
                cursor.setCharFormat(style)
            block = block.next()

    def _keep_headings(self) -> None:
        """Begin a page with a heading that would stand at the end of one, alone or with a single line."""
        layout = self._document.documentLayout()

        def page(block: QTextBlock) -> int:
            return int(layout.blockBoundingRect(block).top() // self._height)

        block = self._document.begin()
        while block.isValid():
            second = block.next().next()
            if block.blockFormat().headingLevel() and second.isValid() and page(second) > page(block):
                form = block.blockFormat()
                form.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
                QTextCursor(block).setBlockFormat(form)
                self._document.setPageSize(self._document.pageSize())  # lays out all that follows anew
            block = block.next()

    def _style_tables(self) -> None:
        for table in _tables(self._document.rootFrame()):
            form = table.format()
            share = _TABLE_SHARES.get(table.columns(), 100)
            form.setWidth(QTextLength(QTextLength.Type.PercentageLength, share))
            form.setBorder(0)
            form.setCellPadding(0)
            form.setCellSpacing(0)
            form.setHeaderRowCount(1)
            form.setTopMargin(_px(2))
            form.setBottomMargin(_px(8))
            table.setFormat(form)
            for row in range(table.rows()):
                self._style_row(table, row)

    def _style_row(self, table: QTextTable, row: int) -> None:
        head = row == 0
        style = QTextCharFormat()
        style.setFont(_font(self._theme, _TABLE_PT, 600 if head else 400))
        for column in range(table.columns()):
            cell = table.cellAt(row, column)
            form = cell.format().toTableCellFormat()
            form.setBorderBrush(QBrush(self._theme.color("strong" if head else "line")))
            form.setBottomBorder(_px(0.8 if head else 0.5))
            form.setBottomBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
            form.setTopPadding(_px(2.4))
            form.setBottomPadding(_px(2.4))
            form.setLeftPadding(_px(4))
            form.setRightPadding(_px(4))
            form.setVerticalAlignment(QTextCharFormat.VerticalAlignment.AlignTop)
            cell.setFormat(form)
            cursor = cell.firstCursorPosition()
            cursor.setPosition(cell.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(style)
            block = cell.firstCursorPosition()
            spacing = block.blockFormat()
            spacing.setTopMargin(0)
            spacing.setBottomMargin(0)
            below = table.cellAt(min(row + 1, table.rows() - 1), column) if head else cell
            spacing.setAlignment(below.firstCursorPosition().blockFormat().alignment())
            block.setBlockFormat(spacing)

    def _fit_pictures(self, sizes: Mapping[str, tuple[float, float]]) -> None:
        """As wide as the page, but not higher than a part of it."""
        for cursor, name in list(_images(self._document)):
            if name not in sizes:
                continue
            width, height = sizes[name]
            factor = min(self._width / width, _PICTURE_SHARE * self._height / height)
            form = QTextImageFormat()
            form.setName(name)
            form.setWidth(width * factor)
            form.setHeight(height * factor)
            cursor.mergeCharFormat(form)


def _px(points: float) -> float:
    """Points in the pixels of the layout."""
    return points * _LAYOUT_DPI / 72.0


def _font(theme: Theme, points: float, weight: int = 400) -> QFont:
    """Without the tabular digits and ligatures of the window: readers of PDF could not copy these."""
    font = QFont(theme.font(12, weight))
    font.setFeature(QFont.Tag("tnum"), 0)
    font.setFeature(QFont.Tag("calt"), 0)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    font.setPixelSize(round(_px(points)))
    return font


def _tables(frame: QTextFrame) -> Iterator[QTextTable]:
    for child in frame.childFrames():
        if isinstance(child, QTextTable):
            yield child
        yield from _tables(child)


def _images(document: QTextDocument) -> Iterator[tuple[QTextCursor, str]]:
    """A cursor over each picture, and its name."""
    block: QTextBlock = document.begin()
    while block.isValid():
        fragments = block.begin()
        while not fragments.atEnd():
            fragment = fragments.fragment()
            form = fragment.charFormat()
            if form.isImageFormat():
                cursor = QTextCursor(document)
                cursor.setPosition(fragment.position())
                cursor.setPosition(fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor)
                yield cursor, str(form.property(QTextFormat.Property.ImageName.value))
            fragments += 1
        block = block.next()
